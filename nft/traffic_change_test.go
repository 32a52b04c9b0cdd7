package nft_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/internal/packettest"
	"github.com/nearside/nearside/nft"
)

// requireOnly probes often enough to meet every endpoint, and requires those
// given and no others.
func (n *node) requireOnly(t *testing.T, f nft.Family, p packettest.Probe, endpoints ...string) {
	t.Helper()
	open, wanted := map[netip.AddrPort]bool{}, map[netip.AddrPort]bool{}
	for _, e := range endpoints {
		open[inFamily(f, packettest.To(e))], wanted[inFamily(f, packettest.To(e))] = true, true
	}
	for range 1 + manyProbes*(len(endpoints)-1) {
		got := n.probe(t, f, p)
		require.Contains(t, wanted, got.To, "%v", got)
		delete(open, got.To)
	}
	require.Empty(t, open, "nobody was sent there")
}

// requireKept sends on both ways of an established connection.
func (n *node) requireKept(t *testing.T, o packettest.Outcome) {
	t.Helper()
	later := n.Again(t, o)
	require.Equal(t, packettest.Delivered, later.Kind)
	require.Equal(t, o.To, later.To)
	require.Equal(t, o.Source, later.Source)
	require.Equal(t, packettest.Delivered, n.Reply(t, o).Kind)
}

func TestTrafficOfNewConnectionsFollowsChangesAndThatOfOldOnesDoesNot(t *testing.T) {
	n := newNode(t)
	for _, from := range []packettest.Source{aPod, aClient} {
		t.Run("from "+from.Side.String(), func(t *testing.T) {
			eachTransport(t, func(t *testing.T, f nft.Family, p packettest.Protocol) {
				probe := packettest.Probe{From: from, To: packettest.To(webIP), Proto: p}
				table := n.serve(t, podsKnown.config(f), service(webIP, farA, farB))
				n.requireOnly(t, f, probe, farA, farB)
				flow := n.probe(t, f, probe)
				require.Equal(t, packettest.Delivered, n.Reply(t, flow).Kind)

				steps := []struct {
					name string
					next nft.Service
					now  []string
				}{
					{name: "one endpoint for another", next: service(webIP, farA, "@"+nearA), now: []string{farA, nearA}},
					{name: "others altogether", next: service(webIP, "@"+nearA, "@"+nearB), now: []string{nearA, nearB}},
					{name: "fewer", next: service(webIP, "@"+nearB), now: []string{nearB}},
					{name: "more", next: service(webIP, "@"+nearB, farB, "@"+nearA), now: []string{farB, nearA, nearB}},
				}
				for _, s := range steps {
					n.set(t, table, s.next)
					n.requireOnly(t, f, probe, s.now...)
					n.requireKept(t, flow)
				}

				n.set(t, table, service(webIP))
				require.Equal(t, packettest.Refused, n.probe(t, f, probe).Kind, "no endpoints")
				n.requireKept(t, flow)
				n.set(t, table, silent(service(webIP)))
				require.Equal(t, packettest.Dropped, n.probe(t, f, probe).Kind, "no local endpoints")
				n.requireKept(t, flow)
				table.Delete(service(webIP).Name)
				n.commit(t, table)
				require.Equal(t, packettest.Untouched, n.probe(t, f, probe).Kind, "no service")
				n.requireKept(t, flow)
			})
		})
	}
}

// churn is a service that changes as fast as the kernel takes it, while
// connections are made to it.
type churn struct {
	name   string
	from   packettest.Source
	to     string
	states []nft.Service
	// masqueraded is what every connection has to be.
	masqueraded bool
	// pardoned is the share of connections that may be dropped, or not
	// masqueraded when they should be, but nothing worse.
	pardoned float64
}

// Every commit is a whole: a packet meets the state of before or that of after.
// One that is caught in between, because it was sent to a chain by the old state
// and looks up its slot in the new one, must not notice.
//
// A packet caught in a change of policy may be dropped, or be judged by the old
// policy on the way in and by the new one on the way out. A client repeats it,
// and administrators change policies a few times a year.
var churns = []churn{
	{
		name: "endpoints are replaced in their slots", from: aPod, to: webIP,
		states: []nft.Service{service(webIP, farA, farB), service(webIP, nearA, nearB)},
	},
	{
		name: "endpoints come and go", from: aPod, to: webIP,
		states: []nft.Service{service(webIP, farA, farB, nearA, nearB), service(webIP, nearA)},
	},
	{
		name: "endpoints come and go while clients are masqueraded", from: aClient, to: webIP, masqueraded: true,
		states: []nft.Service{service(webIP, farA, farB, nearA), service(webIP, farA, nearA)},
	},
	{
		name: "a policy changes back and forth", from: aClient, to: webVIP, pardoned: 0.05,
		states: []nft.Service{external(bothPlaces(webVIP)), localOutside(bothPlaces(webVIP), "@"+nearA)},
	},
}

func TestTrafficLosesNothingUnderChanges(t *testing.T) {
	n := newNode(t)
	for _, c := range churns {
		t.Run(c.name, func(t *testing.T) {
			eachTransport(t, func(t *testing.T, f nft.Family, p packettest.Protocol) { c.check(t, n, f, p) })
		})
	}
}

// What a run of a churn consists of at least, however slow the machine is.
const (
	churnProbes  = 1000
	churnCommits = 200
)

// check probes while the service changes.
func (c churn) check(t *testing.T, n *node, f nft.Family, p packettest.Protocol) {
	t.Helper()
	table := n.serve(t, podsKnown.config(f), c.states[0])
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var commits atomic.Int64
	changing := make(chan error, 1)
	go func() { changing <- c.change(ctx, n, table, &commits) }()

	probe := packettest.Probe{From: c.from, To: packettest.To(c.to), Proto: p}
	probes, bad, pardoned := 0, map[string]int{}, 0
	for ; (probes < churnProbes || commits.Load() < churnCommits) && len(changing) == 0; probes++ {
		switch got := n.probe(t, f, probe); {
		case c.fine(f, got):
		case c.pardoned > 0 && (got.Kind == packettest.Dropped || got.Kind == packettest.Delivered):
			pardoned++
		default:
			bad[got.String()]++
		}
	}
	stop()
	require.NoError(t, <-changing)
	require.Empty(t, bad, "of %d probes under %d commits", probes, commits.Load())
	require.LessOrEqual(t, float64(pardoned), float64(probes)*c.pardoned, "of %d probes under %d commits", probes, commits.Load())
}

// change goes through the states over and over, a commit for each.
func (c churn) change(ctx context.Context, n *node, table *nft.Table, commits *atomic.Int64) error {
	for i := 1; ; i++ {
		if problems := table.Set(in(table.Family(), c.states[i%len(c.states)])); len(problems) > 0 {
			return fmt.Errorf("%v", problems)
		}
		err := n.conn.Apply(ctx, table.Changes())
		if errors.Is(err, context.Canceled) {
			return nil
		}
		if err != nil {
			return err
		}
		table.Committed()
		commits.Add(1)
	}
}

// fine tells whether a connection is as one of the states wants it.
func (c churn) fine(f nft.Family, got packettest.Outcome) bool {
	if got.Kind != packettest.Delivered {
		return false
	}
	for _, s := range c.states {
		for _, fe := range s.Frontends {
			wanted := fe.Backends
			masqueraded := c.masqueraded || fe.Kind == nft.External
			if fe.Outside != nil {
				wanted, masqueraded = fe.Outside.Backends, false
			}
			for _, b := range wanted {
				if inFamily(f, b.Addr) == got.To && masqueraded == got.Masqueraded {
					return true
				}
			}
		}
	}
	return false
}
