package agent

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nearside/nearside/internal/netns"
	"github.com/nearside/nearside/nft"
)

// onceIn does one round of an agent in a network namespace.
func onceIn(t *testing.T, ns *netns.Namespace, opts Options, objects ...runtime.Object) Round {
	t.Helper()
	opts.NodeName, opts.Source = "node-a", fill(objects)
	var r Round
	ns.Must(t, func() error {
		a, err := New(opts)
		if err != nil {
			return err
		}
		r, err = a.Once(t.Context())
		return err
	})
	return r
}

// tables is what nft prints for the tables that exist.
func tables(ns *netns.Namespace) (text string) {
	for _, family := range []string{"ip", "ip6"} {
		if out, err := ns.Command("nft", "list", "table", family, "nearside"); err == nil {
			text += out
		}
	}
	return text
}

func rendered(t *testing.T, objects ...runtime.Object) string {
	t.Helper()
	a, err := New(Options{NodeName: "node-a", Source: fill(objects)})
	require.NoError(t, err)
	text, err := a.Render(t.Context())
	require.NoError(t, err)
	return text
}

func TestOnceInTheKernel(t *testing.T) {
	ns := netns.New(t)
	objects := explainable()
	r := onceIn(t, ns, Options{}, objects...)
	require.Equal(t, 6, r.Services)
	require.Len(t, r.Families, 2)
	require.Equal(t, rendered(t, objects...), tables(ns))
	again := onceIn(t, ns, Options{}, objects...)
	require.Zero(t, again.Changes(), "what is there already is not written again")
}

func TestOnceRemovesWhatAnEarlierProcessLeft(t *testing.T) {
	ns := netns.New(t)
	onceIn(t, ns, Options{}, explainable()...)
	onceIn(t, ns, Options{}, threeNodes()...)
	require.Equal(t, rendered(t, threeNodes()...), tables(ns))
}

func TestOnceForOneFamily(t *testing.T) {
	ns := netns.New(t)
	onceIn(t, ns, Options{Families: []nft.Family{nft.IPv6}}, explainable()...)
	text := tables(ns)
	require.True(t, strings.HasPrefix(text, "table ip6 nearside {"))
}

func TestIPv6IsLeftOutWhereItIsDisabled(t *testing.T) {
	ns := netns.New(t)
	ns.Must(t, func() error { return os.WriteFile("/proc/sys/net/ipv6/conf/all/disable_ipv6", []byte("1"), 0) })
	r := onceIn(t, ns, Options{}, explainable()...)
	require.Len(t, r.Families, 1)
	require.Equal(t, nft.IPv4, r.Families[0].Family)
}

// flaky is the real kernel, which for a while refuses one family.
type flaky struct {
	Kernel
	broken atomic.Bool
}

func (k *flaky) Apply(ctx context.Context, tx *nft.Transaction) error {
	if tx.Family == nft.IPv6 && k.broken.Load() {
		return &nft.Error{Op: "add table", Errno: syscall.ENOMEM}
	}
	return k.Kernel.Apply(ctx, tx)
}

func TestFamiliesFailAndRecoverAloneInTheKernel(t *testing.T) {
	ns := netns.New(t)
	ctx, stop := context.WithCancel(t.Context())
	k := &flaky{}
	k.broken.Store(true)
	objects := explainable()
	a, err := New(Options{NodeName: "node-a", Source: fill(objects), Kernel: k, Families: nft.Families})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		done <- ns.Do(func() error {
			conn, err := nft.Dial()
			if err != nil {
				return err
			}
			defer func() { _ = conn.Close() }()
			k.Kernel = conn
			return a.Run(ctx)
		})
	}()
	require.Eventually(t, func() bool {
		h := a.Health()
		return !h.Families[nft.IPv4].LastSync.IsZero() && h.Families[nft.IPv6].Err != nil
	}, 10*time.Second, 10*time.Millisecond)
	want := rendered(t, objects...)
	require.True(t, strings.HasPrefix(want, tables(ns)), "IPv4 is served although IPv6 fails")
	k.broken.Store(false)
	require.Eventually(t, func() bool { return tables(ns) == want }, 10*time.Second, 50*time.Millisecond)
	stop()
	require.NoError(t, <-done)
	require.Equal(t, want, tables(ns), "the tables stay")
}
