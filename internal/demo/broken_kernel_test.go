package demo

import (
	"context"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/internal/netlab"
	"github.com/nearside/nearside/internal/netns"
)

// TestDemoNoticesABrokenPod: an endpoint that is ready in the manifests and does
// not listen has to show in the verdict.
func TestDemoNoticesABrokenPod(t *testing.T) {
	netns.RequireRoot(t)
	opts, err := Options{Agent: needAgent(t), Connections: 100, Out: io.Discard, Progress: io.Discard}.withDefaults()
	require.NoError(t, err)
	lab, err := netlab.New(t.Context(), netlab.Options{Name: labName})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lab.Close()) })
	sc := theScenario()
	d := &demo{opts: opts, console: newConsole(opts, func(err error) { t.Error(err) })}
	d.stage = &stage{sc: sc, policy: policyCluster, conditions: sc.start()}
	t.Cleanup(func() { require.NoError(t, d.stage.close()) })
	require.NoError(t, d.stage.build(t.Context(), lab, opts.ZoneDelay))
	require.NoError(t, d.stage.startAgents(t.Context(), opts.Agent, t.TempDir()))

	d.stage.servers["cart-2"].stop()
	problems, err := d.showPolicy(t.Context(), policyCluster)
	require.NoError(t, err)
	all := strings.Join(problems, "\n")
	for _, node := range sc.nodes() {
		require.Regexp(t, `Cluster, shop/cart from `+node+`: \d+ connections failed, most often: connect: connection refused`, all)
		require.Contains(t, all, "Cluster, shop/cart from "+node+": cart-2 answered 0.0% of ")
	}
	require.NotContains(t, all, "stock", "the other service works")
}

func TestAwaitSaysWhatIsMissing(t *testing.T) {
	netns.RequireRoot(t)
	lab, err := netlab.New(t.Context(), netlab.Options{Name: labName})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lab.Close()) })
	host, err := lab.AddHost(t.Context(), "node-a")
	require.NoError(t, err)
	v, err := openKernelView(map[string]*netlab.Host{"node-a": host})
	require.NoError(t, err)
	t.Cleanup(v.close)
	v.timeout = 20 * time.Millisecond

	ap := netip.MustParseAddrPort
	wanted := map[string]destinations{"node-a": {ap("10.96.0.10:80"): {ap("10.244.1.12:8080")}}}
	_, err = v.await(t.Context(), wanted, func() error { return nil })
	require.EqualError(t, err, "wait for the agent of node-a: after 20ms its table sends connections to nowhere, "+
		"expected 10.96.0.10:80: [10.244.1.12:8080]")

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrClosedPipe)
	_, err = v.await(ctx, wanted, func() error { return nil })
	require.ErrorIs(t, err, context.Canceled)
}
