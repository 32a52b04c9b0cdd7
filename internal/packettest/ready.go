package packettest

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/nearside/nearside/internal/netns"
)

// What ip has set up works a moment later: links carry packets once the kernel
// has noticed their carrier, and IPv6 addresses are put to use by a worker
// (net/ipv6/addrconf.c). A lab that is not waited for loses its first packets.

// retry is how long to wait before looking again.
const retry = 5 * time.Millisecond

// awaitReady waits until the lab's addresses and links work.
func (l *Lab) awaitReady(t testing.TB) {
	t.Helper()
	addrs := append([]netip.Addr(nil), l.opts.NodeAddrs...)
	for _, prefix := range l.opts.PodPrefixes {
		addrs = append(addrs, prefix.Masked().Addr().Next())
	}
	for _, a := range addrs {
		if err := awaitAddress(l.Node, a); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range l.passages() {
		if err := l.awaitPassage(p.in, p.packet); err != nil {
			t.Fatal(err)
		}
	}
}

// passage is a way through the node.
type passage struct {
	in     Side
	packet packet
}

// passages use every link in both directions and in each family.
func (l *Lab) passages() (all []passage) {
	for _, family := range []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
		if !l.NodeAddr(family).IsValid() {
			continue
		}
		for _, side := range []Side{World, Pods, Node} {
			all = append(all, passage{side, l.sentinel(side, family)})
		}
	}
	for _, prefix := range l.opts.PodPrefixes {
		toPod := l.sentinel(World, prefix.Addr())
		toPod.dst = netip.AddrPortFrom(prefix.Masked().Addr().Next().Next(), toPod.dst.Port())
		all = append(all, passage{World, toPod})
	}
	return all
}

// awaitPassage sends a packet until it comes out.
func (l *Lab) awaitPassage(in Side, p packet) error {
	seen := &sightings{sent: p}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if err := l.sides[in].send(p); err != nil {
			return err
		}
		if err := l.wait(retry); err != nil {
			return err
		}
		if err := l.look(seen); err != nil || seen.arrived {
			return err
		}
	}
	return fmt.Errorf("packets from %v to %v do not pass the node", in, p.dst)
}

// awaitAddress waits until a namespace takes an address for its own.
func awaitAddress(ns *netns.Namespace, a netip.Addr) error {
	return ns.Do(func() (err error) {
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(retry) {
			if err = sendToSelf(a); err == nil {
				return nil
			}
		}
		return fmt.Errorf("address %v does not come up: %w", a, err)
	})
}

// sendToSelf sends a datagram from an address to itself.
func sendToSelf(a netip.Addr) error {
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(a, 0)))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(retry)); err != nil {
		return err
	}
	if _, err := conn.WriteTo([]byte(payloadMagic), conn.LocalAddr()); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, len(payloadMagic)))
	return err
}
