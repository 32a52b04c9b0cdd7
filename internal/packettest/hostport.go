package packettest

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/nearside/nearside/internal/netns"
)

// host sends and receives inside the node. A raw socket of a protocol gets a
// copy of each of its packets that has passed the node's input hook.
type host struct {
	out4, out6 int
	in         []hostSocket
	buf, oob   []byte
}

type hostSocket struct {
	fd    int
	proto Protocol
	v6    bool
}

func openHost(ns *netns.Namespace) (port, error) {
	h := &host{out4: -1, out6: -1, buf: make([]byte, 1<<16), oob: make([]byte, 256)}
	err := ns.Do(func() (err error) {
		// Of sockets of IPPROTO_RAW the sender writes the IP header.
		if h.out4, err = rawSocket(unix.AF_INET, unix.IPPROTO_RAW); err != nil {
			return err
		}
		if h.out6, err = rawSocket(unix.AF_INET6, unix.IPPROTO_RAW); err != nil {
			return err
		}
		for _, p := range protocols {
			if err := h.listen(p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		h.close()
		return nil, fmt.Errorf("open raw sockets in the node: %w", err)
	}
	return h, nil
}

func rawSocket(family, protocol int) (int, error) {
	return unix.Socket(family, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, protocol)
}

func (h *host) listen(p Protocol) error {
	fd, err := rawSocket(unix.AF_INET, int(p))
	if err != nil {
		return err
	}
	h.in = append(h.in, hostSocket{fd: fd, proto: p})
	if fd, err = rawSocket(unix.AF_INET6, int(p.number(netip.IPv6Unspecified()))); err != nil {
		return err
	}
	h.in = append(h.in, hostSocket{fd: fd, proto: p, v6: true})
	// An IPv6 raw socket gets packets without their IP header: ask for the
	// destination that stood there.
	return unix.SetsockoptInt(fd, unix.SOL_IPV6, unix.IPV6_RECVPKTINFO, 1)
}

// send sends a packet of the node's. That a rule forbids it, which the kernel
// tells the sender by EPERM, is an outcome like others and not an error.
func (h *host) send(p packet) error {
	var err error
	if dst := p.dst.Addr(); dst.Is4() {
		err = unix.Sendto(h.out4, p.marshal(), 0, &unix.SockaddrInet4{Addr: dst.As4()})
	} else {
		err = unix.Sendto(h.out6, p.marshal(), 0, &unix.SockaddrInet6{Addr: dst.As16()})
	}
	if err != nil && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("send packet from the node: %w", err)
	}
	return nil
}

func (h *host) drain(found func(parsed)) error {
	for _, s := range h.in {
		for {
			n, oobn, _, from, err := unix.Recvmsg(s.fd, h.buf, h.oob, 0)
			if errors.Is(err, unix.EAGAIN) {
				break
			}
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if err != nil {
				return fmt.Errorf("read raw socket of the node: %w", err)
			}
			if p, ok := s.parse(h.buf[:n], h.oob[:oobn], from); ok {
				found(p)
			}
		}
	}
	return nil
}

func (s hostSocket) parse(b, oob []byte, from unix.Sockaddr) (parsed, bool) {
	if !s.v6 {
		return parse(b)
	}
	src, ok := from.(*unix.SockaddrInet6)
	if !ok {
		return parsed{}, false
	}
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return parsed{}, false
	}
	for _, m := range messages {
		// struct in6_pktinfo begins with the address.
		if m.Header.Level == unix.SOL_IPV6 && m.Header.Type == unix.IPV6_PKTINFO && len(m.Data) >= 16 {
			return parseSegment(netip.AddrFrom16(src.Addr), addrOf(m.Data[:16]), s.proto, b, false)
		}
	}
	return parsed{}, false
}

// lost is always 0: what the node's sockets get is a few answers at a time, and
// they are drained with every probe.
func (h *host) lost() (int, error) { return 0, nil }

func (h *host) fds() []int {
	fds := make([]int, 0, len(h.in))
	for _, s := range h.in {
		fds = append(fds, s.fd)
	}
	return fds
}

func (h *host) close() {
	for _, fd := range append(h.fds(), h.out4, h.out6) {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}
