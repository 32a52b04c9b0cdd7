package packettest

import (
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long the lab waits for a sentinel. It is much longer than any
// machine should take: running out of it means that the lab is broken.
const patience = 10 * time.Second

// The sentinel goes between these (RFC 2544 and RFC 5180 set their networks
// apart for tests), so no ruleset under test may concern itself with them.
var (
	sentinelFrom4 = netip.MustParseAddrPort("198.18.0.1:9")
	sentinelTo4   = netip.MustParseAddrPort("198.19.0.1:9")
	sentinelFrom6 = netip.MustParseAddrPort("[2001:2:0:1::1]:9")
	sentinelTo6   = netip.MustParseAddrPort("[2001:2:0:2::1]:9")
)

// exchange sends a packet in on a side and finds out what becomes of it.
func (l *Lab) exchange(t testing.TB, in Side, p packet, f *flow) Outcome {
	t.Helper()
	seen := &sightings{sent: p}
	err := l.onOneCPU(func() error {
		if err := l.sides[in].send(p); err != nil {
			return err
		}
		// Mostly all has happened by the time that send returns.
		if err := l.look(seen); err != nil || seen.decided() {
			return err
		}
		return l.awaitSentinel(in, seen)
	})
	if err != nil {
		t.Fatalf("probe from %v to %v: %v", p.src, p.dst, err)
	}
	if seen.arrived && !seen.arrival.intact {
		t.Fatalf("probe from %v to %v: it came out in %v for %v with a wrong checksum", p.src, p.dst, seen.via, seen.arrival.dst)
	}
	o := seen.outcome()
	o.flow = f
	return o
}

// awaitSentinel sends a sentinel behind a packet and waits until it is out, or
// the packet itself.
func (l *Lab) awaitSentinel(in Side, seen *sightings) error {
	sentinel := l.sentinel(in, seen.sent.src.Addr())
	seen.sentinel = sentinel.token
	l.sentinels++
	if err := l.sides[in].send(sentinel); err != nil {
		return fmt.Errorf("sentinel: %w", err)
	}
	for deadline := time.Now().Add(patience); ; {
		if err := l.look(seen); err != nil || seen.decided() {
			return err
		}
		if seen.sentinelOut {
			return l.requireNoneLost()
		}
		left := time.Until(deadline)
		if left <= 0 {
			return fmt.Errorf("the sentinel did not come out within %v: the node passes nothing, or its rules concern %v", patience, sentinel.dst)
		}
		if err := l.wait(left); err != nil {
			return err
		}
	}
}

// requireNoneLost makes sure that nothing came out unseen before silence is
// taken for an answer.
func (l *Lab) requireNoneLost() error {
	for side, p := range l.sides {
		switch n, err := p.lost(); {
		case err != nil:
			return err
		case n > 0:
			return fmt.Errorf("%d packets that came out in %v were lost: there is too much other traffic", n, Side(side))
		}
	}
	return nil
}

// sentinel is a datagram that goes through the node to the world.
func (l *Lab) sentinel(in Side, family netip.Addr) packet {
	src, dst := sentinelFrom4, sentinelTo4
	if family.Is6() {
		src, dst = sentinelFrom6, sentinelTo6
	}
	if in == Node {
		src = netip.AddrPortFrom(l.NodeAddr(family), src.Port())
	}
	return packet{src: src, dst: dst, proto: UDP, token: l.nextToken()}
}

// look collects what has come out. If that decides anything, it looks a second
// time: what came out before the deciding packet, but on a side that was looked
// at too early, is there now.
func (l *Lab) look(seen *sightings) error {
	if err := l.drain(seen); err != nil {
		return err
	}
	if seen.refused || seen.sentinelOut {
		return l.drain(seen)
	}
	return nil
}

func (l *Lab) drain(seen *sightings) error {
	for side, p := range l.sides {
		if err := p.drain(func(q parsed) { seen.add(Side(side), q) }); err != nil {
			return err
		}
	}
	return nil
}

// wait waits until something may have come out.
func (l *Lab) wait(atMost time.Duration) error {
	var fds []unix.PollFd
	for _, p := range l.sides {
		for _, fd := range p.fds() {
			fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		}
	}
	_, err := unix.Poll(fds, int(atMost/time.Millisecond)+1)
	if err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("wait for packets: %w", err)
	}
	return nil
}

// onOneCPU runs f on the lab's processor: only there is it certain that the
// sentinel stays behind the probe.
func (l *Lab) onOneCPU(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return fmt.Errorf("read CPU affinity: %w", err)
	}
	if err := unix.SchedSetaffinity(0, &l.cpu); err != nil {
		return fmt.Errorf("stay on one CPU: %w", err)
	}
	defer func() { _ = unix.SchedSetaffinity(0, &before) }()
	return f()
}
