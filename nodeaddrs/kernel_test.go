package nodeaddrs

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/internal/netns"
)

const soon = 10 * time.Second // far more than anything here takes

// scene is a watcher that runs in a namespace with the interfaces lo and eth0.
type scene struct {
	t   *testing.T
	ns  *netns.Namespace
	log *logged

	mu    sync.Mutex
	sets  [][]netip.Addr
	block chan struct{} // f waits for it, unless nil
}

// logged is what was logged, to be read meanwhile.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newScene(t *testing.T, opts Options) *scene {
	t.Helper()
	s := &scene{t: t, ns: netns.New(t), log: &logged{}}
	// Duplicate address detection would delay every IPv6 address by a second.
	require.NoError(t, s.ns.Do(func() error {
		return os.WriteFile("/proc/sys/net/ipv6/conf/default/accept_dad", []byte("0"), 0o644)
	}))
	s.ip("link add eth0 type veth peer name eth1", "link set eth1 up", "link set eth0 up", "address flush dev eth0", "address flush dev eth1")
	opts.Log = slog.New(slog.NewTextHandler(s.log, nil))
	var w *Watcher
	s.ns.Must(t, func() (err error) {
		w, err = Dial(opts)
		return err
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx, s.take) }()
	t.Cleanup(func() {
		s.unblock()
		cancel()
		require.NoError(t, <-ended)
		require.NoError(t, w.Close())
	})
	return s
}

func (s *scene) take(addrs []netip.Addr) {
	s.mu.Lock()
	s.sets = append(s.sets, addrs)
	block := s.block
	s.mu.Unlock()
	if block != nil {
		<-block
	}
}

// blockNext makes f wait from its next call on.
func (s *scene) blockNext() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.block = make(chan struct{})
}

func (s *scene) unblock() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.block != nil {
		close(s.block)
		s.block = nil
	}
}

func (s *scene) told() [][]netip.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sets)
}

// ip runs commands of ip(8) in one go.
func (s *scene) ip(commands ...string) {
	s.t.Helper()
	path := filepath.Join(s.t.TempDir(), "batch")
	require.NoError(s.t, os.WriteFile(path, []byte(strings.Join(commands, "\n")+"\n"), 0o600))
	s.ns.Run(s.t, "ip", "-batch", path)
}

// becomes waits until the last set is the given one.
func (s *scene) becomes(want ...string) {
	s.t.Helper()
	wanted := parse(want...)
	slices.SortFunc(wanted, netip.Addr.Compare)
	var last []netip.Addr
	for end := time.Now().Add(soon); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if sets := s.told(); len(sets) > 0 {
			if last = sets[len(sets)-1]; slices.Equal(last, wanted) {
				return
			}
		}
	}
	require.Equal(s.t, wanted, last)
}

func TestAddressesComeAndGo(t *testing.T) {
	s := newScene(t, Options{Settle: 10 * time.Millisecond})
	s.becomes("127.0.0.1", "::1")
	s.ip("address add 192.0.2.11/24 dev eth0")
	s.becomes("127.0.0.1", "::1", "192.0.2.11")
	s.ip("address add 2001:db8::11/64 dev eth0", "address add fe80::11/64 dev eth0", "address add 198.51.100.7/32 dev lo")
	s.becomes("127.0.0.1", "::1", "192.0.2.11", "2001:db8::11", "fe80::11%eth0", "198.51.100.7")
	s.ip("address add 192.0.2.12 peer 203.0.113.1 dev eth0")
	s.becomes("127.0.0.1", "::1", "192.0.2.11", "192.0.2.12", "2001:db8::11", "fe80::11%eth0", "198.51.100.7")
	s.ip("address del 192.0.2.11/24 dev eth0", "address del 192.0.2.12 peer 203.0.113.1 dev eth0", "address del fe80::11/64 dev eth0")
	s.becomes("127.0.0.1", "::1", "2001:db8::11", "198.51.100.7")

	// One address on two interfaces is there until it has left both.
	s.ip("address add 198.51.100.7/32 dev eth0", "address del 198.51.100.7/32 dev lo", "address add 192.0.2.99/32 dev eth0")
	s.becomes("127.0.0.1", "::1", "2001:db8::11", "198.51.100.7", "192.0.2.99")
	require.Empty(t, s.log.String())
}

func TestInterfaceGoesDownAndUp(t *testing.T) {
	s := newScene(t, Options{Settle: 10 * time.Millisecond})
	s.ip("address add 192.0.2.11/24 dev eth0", "address add 2001:db8::11/64 dev eth0")
	s.becomes("127.0.0.1", "::1", "192.0.2.11", "2001:db8::11")
	s.ip("link set eth1 down") // no carrier: the address is this machine's all the same
	s.ip("link set eth0 down")
	s.becomes("127.0.0.1", "::1") // the kernel drops IPv6 addresses, and keeps the other without using it
	s.ip("link set eth0 up")
	s.becomes("127.0.0.1", "::1", "192.0.2.11")
	s.ip("link del eth0")
	s.becomes("127.0.0.1", "::1")
}

func TestWithoutCarrierAnAddressStays(t *testing.T) {
	s := newScene(t, Options{Settle: 10 * time.Millisecond})
	s.ip("address add 192.0.2.11/24 dev eth0")
	s.becomes("127.0.0.1", "::1", "192.0.2.11")
	s.ip("link set eth1 down", "address add 192.0.2.12/24 dev eth0")
	s.becomes("127.0.0.1", "::1", "192.0.2.11", "192.0.2.12")
}

func TestLeavingABridgeIsNotTheEndOfAnInterface(t *testing.T) {
	s := newScene(t, Options{Settle: 10 * time.Millisecond})
	s.ip("address add 192.0.2.11/24 dev eth0")
	out, err := s.ns.Command("ip", "link", "add", "br0", "type", "bridge")
	require.NoError(t, err, "%s", out)
	s.ip("link set eth0 master br0", "link set eth0 nomaster", "address add 192.0.2.12/32 dev lo")
	s.becomes("127.0.0.1", "::1", "192.0.2.11", "192.0.2.12")
}

// TestDuplicateAddress gives an address that another host on the link has.
func TestDuplicateAddress(t *testing.T) {
	s := newScene(t, Options{Settle: 10 * time.Millisecond})
	far := netns.New(t)
	holder := exec.CommandContext(t.Context(), "sleep", "60")
	require.NoError(t, far.Start(holder))
	t.Cleanup(func() {
		require.NoError(t, holder.Process.Kill())
		_ = holder.Wait()
	})
	s.ip(fmt.Sprintf("link set eth1 netns %d", holder.Process.Pid))
	far.Run(t, "ip", "link", "set", "eth1", "up")
	far.Run(t, "ip", "address", "add", "2001:db8::12/64", "dev", "eth1", "nodad")
	require.NoError(t, s.ns.Do(func() error {
		return os.WriteFile("/proc/sys/net/ipv6/conf/eth0/accept_dad", []byte("1"), 0o644)
	}))

	s.ip("address add 2001:db8::11/64 dev eth0", "address add 2001:db8::12/64 dev eth0")
	s.becomes("127.0.0.1", "::1", "2001:db8::11", "2001:db8::12")
	require.Contains(t, s.ns.Run(t, "ip", "-6", "address", "show", "dev", "eth0"), "tentative", "they are told early")
	s.becomes("127.0.0.1", "::1", "2001:db8::11") // the other host has objected
	require.Contains(t, s.ns.Run(t, "ip", "-6", "address", "show", "dev", "eth0"), "dadfailed")
}

func TestManyAddressesAtOnceAreFewCalls(t *testing.T) {
	s := newScene(t, Options{Settle: 50 * time.Millisecond})
	s.becomes("127.0.0.1", "::1")
	var commands []string
	want := []string{"127.0.0.1", "::1"}
	for i := range 500 {
		a := fmt.Sprintf("10.9.%d.%d", i/250, i%250+1)
		commands, want = append(commands, "address add "+a+"/32 dev eth0"), append(want, a)
	}
	start := time.Now()
	s.ip(commands...)
	s.becomes(want...)
	t.Logf("%d calls, %s", len(s.told())-1, time.Since(start))
	require.Less(t, len(s.told()), 20)
	require.Empty(t, s.log.String(), "the queue held them all")
}

// TestQueueThatRunsOver makes the kernel drop changes: what was queued before
// brings addresses that are gone, and the removals are lost.
func TestQueueThatRunsOver(t *testing.T) {
	s := newScene(t, Options{Settle: 10 * time.Millisecond, ReadBuffer: 1})
	s.becomes("127.0.0.1", "::1")
	s.blockNext()
	s.ip("address add 192.0.2.11/24 dev eth0")
	s.becomes("127.0.0.1", "::1", "192.0.2.11") // f is at work now, and reads nothing
	var add, del []string
	for i := range 500 {
		a := fmt.Sprintf("10.9.%d.%d/32 dev eth0", i/250, i%250+1)
		add, del = append(add, "address add "+a), append(del, "address del "+a)
	}
	s.ip(append(add, del...)...)
	s.ip("address add 192.0.2.12/32 dev eth0", "address del 192.0.2.11/24 dev eth0")
	s.unblock()
	s.becomes("127.0.0.1", "::1", "192.0.2.12")
	require.Contains(t, s.log.String(), "reading all addresses again")
	require.Contains(t, s.log.String(), "no buffer space available")

	// And it goes on as before.
	s.ip("address add 192.0.2.13/24 dev eth0")
	s.becomes("127.0.0.1", "::1", "192.0.2.12", "192.0.2.13")
}

// TestChangesThatDoNotMatterAreNotTold changes what is no address.
func TestChangesThatDoNotMatterAreNotTold(t *testing.T) {
	s := newScene(t, Options{Settle: 10 * time.Millisecond})
	s.becomes("127.0.0.1", "::1")
	s.ip("link set eth0 mtu 1400", "link set eth0 txqueuelen 10", "address add 192.0.2.11/24 dev eth0", "address del 192.0.2.11/24 dev eth0")
	s.ip("address add 192.0.2.12/24 dev eth0")
	s.becomes("127.0.0.1", "::1", "192.0.2.12")
	last := []netip.Addr(nil)
	for _, set := range s.told() {
		require.NotEqual(t, last, set, "no set is told twice in a row")
		last = set
	}
}

func TestWatchEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	err := Watch(ctx, Options{}, func(addrs []netip.Addr) {
		calls++
		require.Contains(t, addrs, netip.MustParseAddr("127.0.0.1"))
		cancel()
	})
	require.NoError(t, err)
	require.Equal(t, 1, calls)

	// One that has ended before it begins asks nothing and tells nothing more.
	require.NoError(t, Watch(ctx, Options{}, func([]netip.Addr) { calls++ }))
	require.LessOrEqual(t, calls, 2)
}
