package packettest

import (
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nearside/nearside/internal/netns"
)

// Options describe a lab. The zero value is a good one.
type Options struct {
	// NodeAddrs are the node's addresses. The first of each family is on the
	// link to the world, where traffic that leaves the node gets its address
	// from; the others are on the loopback interface, as a bound VIP would be.
	// None: 192.0.2.11 and 192.0.2.12, and their twins.
	NodeAddrs []netip.Addr
	// PodPrefixes are the addresses of this node's pods. The first address of
	// each is the node's own on the link to them. None: 10.1.1.0/24 and its
	// twin.
	PodPrefixes []netip.Prefix
	// PodInterface is the name of the node's interface towards its pods. Empty:
	// "pods".
	PodInterface string
}

func (o Options) withDefaults() Options {
	if len(o.NodeAddrs) == 0 {
		first, second := netip.MustParseAddr("192.0.2.11"), netip.MustParseAddr("192.0.2.12")
		o.NodeAddrs = []netip.Addr{first, Twin(first), second, Twin(second)}
	}
	if len(o.PodPrefixes) == 0 {
		prefix := netip.MustParsePrefix("10.1.1.0/24")
		o.PodPrefixes = []netip.Prefix{prefix, TwinPrefix(prefix)}
	}
	if o.PodInterface == "" {
		o.PodInterface = "pods"
	}
	return o
}

// Lab is a node between its pods and the world. Its methods may be called from
// several goroutines, but take turns; those that get a testing.TB end the test
// of the calling goroutine when the lab itself breaks.
type Lab struct {
	// Node is the namespace whose rules are tested. Pods and World are the two
	// others; only sockets at addresses given by Bind do anything there.
	Node, Pods, World *netns.Namespace

	opts Options

	mu    sync.Mutex
	sides [3]port // by Side
	cpu   unix.CPUSet
	// sentinels counts those that were needed.
	sentinels int
	// Counters behind what must not repeat.
	tokens uint32
	ports  map[Protocol]int
}

// The range that source ports of probes are drawn from. Below it masquerade
// prefers ports of the same low range, which no ordinary client has.
const (
	firstPort = 1024
	portCount = 1<<16 - firstPort
)

// New makes a lab that lasts as long as the test. It needs root, the program ip
// of iproute2 and a kernel with veth; without root the test is skipped, where
// CI is set it fails.
func New(t testing.TB, opts Options) *Lab {
	t.Helper()
	l := &Lab{
		Node:   netns.New(t),
		Pods:   netns.New(t),
		World:  netns.New(t),
		opts:   opts.withDefaults(),
		tokens: 1 << 16,
		ports:  map[Protocol]int{},
	}
	if err := l.wire(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	if err := l.openPorts(); err != nil {
		t.Fatal(err)
	}
	if err := l.chooseCPU(); err != nil {
		t.Fatal(err)
	}
	l.awaitReady(t)
	return l
}

// chooseCPU picks the processor that all of the lab's packets are sent on.
func (l *Lab) chooseCPU() error {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return err
	}
	nth := rand.IntN(allowed.Count()) //nolint:gosec // spreads labs over processors, guards nothing
	for cpu := 0; ; cpu++ {
		if !allowed.IsSet(cpu) {
			continue
		}
		if nth == 0 {
			l.cpu.Set(cpu)
			return nil
		}
		nth--
	}
}

func (l *Lab) openPorts() (err error) {
	if l.sides[World], err = openLink(l.World, farInterface); err != nil {
		return err
	}
	if l.sides[Pods], err = openLink(l.Pods, farInterface); err != nil {
		return err
	}
	l.sides[Node], err = openHost(l.Node)
	return err
}

func (l *Lab) close() {
	for _, p := range l.sides {
		if p != nil {
			p.close()
		}
	}
}

// NodeAddr returns the node's first address of an address's family.
func (l *Lab) NodeAddr(family netip.Addr) netip.Addr {
	for _, a := range l.opts.NodeAddrs {
		if a.Is4() == family.Is4() {
			return a
		}
	}
	return netip.Addr{}
}

// nextToken returns a token that was not used before in this lab.
func (l *Lab) nextToken() uint32 {
	l.tokens++
	return l.tokens
}

// nextPort returns a source port that was not used since the node last forgot
// its connections, and has it forget when they run out.
func (l *Lab) nextPort(p Protocol) (uint16, error) {
	n := l.ports[p]
	if n == portCount {
		if err := l.forget(); err != nil {
			return 0, err
		}
		n = 0
	}
	l.ports[p] = n + 1
	return uint16(firstPort + n), nil
}
