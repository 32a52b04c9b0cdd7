package packettest

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"

	"github.com/nearside/nearside/internal/netns"
)

// port is where packets go in and come out on one side.
type port interface {
	// send injects a packet, given from its IP header on.
	send(p packet) error
	// drain hands over all packets that have come out since, without waiting.
	drain(found func(parsed)) error
	// lost tells how many packets have come out since it was last asked, but were
	// lost because nobody drained them in time.
	lost() (int, error)
	// fds are the descriptors that become readable when something comes out.
	fds() []int
	close()
}

// link is a packet socket on the far end of a link of the node's.
type link struct {
	fd  int
	buf []byte
}

// frameHeader is the Ethernet header of a frame, but for the type.
var frameHeader = func() []byte {
	to, err := net.ParseMAC(nodeMAC)
	if err != nil {
		panic(err)
	}
	from, err := net.ParseMAC(farMAC)
	if err != nil {
		panic(err)
	}
	return append(to, from...)
}()

// receiveBuffer is what a link's socket may hold. Other traffic through the
// node is seen as well, and must not crowd out the outcome of a probe.
const receiveBuffer = 4 << 20

func openLink(ns *netns.Namespace, name string) (port, error) {
	l := &link{fd: -1, buf: make([]byte, 1<<16)}
	err := ns.Do(func() error {
		index, err := net.InterfaceByName(name)
		if err != nil {
			return err
		}
		all := int(unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8) // in network order
		if l.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil {
			return err
		}
		// What the far end itself sends, by this socket or its own stack, is no
		// outcome of anything.
		if err := unix.SetsockoptInt(l.fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
			return err
		}
		if err := unix.SetsockoptInt(l.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer); err != nil {
			return err
		}
		return unix.Bind(l.fd, &unix.SockaddrLinklayer{Protocol: uint16(all), Ifindex: index.Index})
	})
	if err != nil {
		l.close()
		return nil, fmt.Errorf("open packet socket on %s: %w", name, err)
	}
	return l, nil
}

func (l *link) send(p packet) error {
	frame := append([]byte(nil), frameHeader...)
	if p.src.Addr().Is4() {
		frame = append(frame, unix.ETH_P_IP>>8, unix.ETH_P_IP&0xff)
	} else {
		frame = append(frame, unix.ETH_P_IPV6>>8, unix.ETH_P_IPV6&0xff)
	}
	if _, err := unix.Write(l.fd, append(frame, p.marshal()...)); err != nil {
		return fmt.Errorf("inject packet: %w", err)
	}
	return nil
}

func (l *link) drain(found func(parsed)) error {
	for {
		n, _, err := unix.Recvfrom(l.fd, l.buf, 0)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("read packet socket: %w", err)
		}
		if n <= 14 {
			continue
		}
		if p, ok := parse(l.buf[14:n]); ok {
			found(p)
		}
	}
}

func (l *link) lost() (int, error) {
	stats, err := unix.GetsockoptTpacketStats(l.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return 0, fmt.Errorf("ask packet socket for losses: %w", err)
	}
	return int(stats.Drops), nil
}

func (l *link) fds() []int { return []int{l.fd} }

func (l *link) close() {
	if l.fd >= 0 {
		_ = unix.Close(l.fd)
	}
}
