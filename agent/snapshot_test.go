package agent

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nearside/nearside/informer"
)

// threeServices are a, b with policy LocalIfPlenty, and c.
func threeServices() []runtime.Object {
	return append(threeNodes(),
		serviceObject("a", "10.96.0.1"), sliceObject("a", "10.0.0.1@node-a"),
		withPolicy(serviceObject("b", "10.96.0.2"), "LocalIfPlenty"), sliceObject("b", "10.0.0.2@node-a", "10.0.0.3@node-b"),
		serviceObject("c", "10.96.0.3"))
}

func TestSnapshotCostsWhatChanged(t *testing.T) {
	all := []informer.Name{shop("a"), shop("b"), shop("c")}
	for name, tc := range map[string]struct {
		changes    informer.Changes
		everything bool
		want       []informer.Name
	}{
		"nothing changed":                           {},
		"a changed service costs itself":            {changes: informer.Changes{Services: all[:1]}, want: all[:1]},
		"a changed zone costs every service":        {changes: informer.Changes{Node: true}, want: all},
		"a changed number of nodes costs its users": {changes: informer.Changes{Nodes: true}, want: all[1:2]},
		"changes are merged":                        {changes: informer.Changes{Services: all[2:], Nodes: true}, want: all[1:]},
		"a service that is gone stays on the list":  {changes: informer.Changes{Services: []informer.Name{shop("z")}, Node: true}, want: append(all[:3:3], shop("z"))},
		"the first round has everything":            {everything: true, want: all},
	} {
		t.Run(name, func(t *testing.T) {
			a := newTestAgent(t, Options{}, threeServices()...)
			k := newScriptedKernel()
			k.agent = a
			a.round(t.Context(), k, take(t, a))
			got := a.snapshot(tc.changes, tc.everything)
			require.Equal(t, tc.want, got.services)
			require.Equal(t, "node-a", got.node.Name)
			require.Equal(t, "zone-1", got.node.Zone)
			require.Equal(t, 3, got.nodes)
		})
	}
}

func TestSnapshotHasServicesWhoseTrialIsDue(t *testing.T) {
	a := newTestAgent(t, Options{}, threeServices()...)
	now := time.Now()
	a.now = func() time.Time { return now }
	a.families[0].quarantine.add(shop("c"), errors.New("refused"), now)
	require.Empty(t, a.snapshot(informer.Changes{}, false).services)
	now = now.Add(firstRetry)
	require.Equal(t, []informer.Name{shop("c")}, a.snapshot(informer.Changes{}, false).services)
}

func TestMergeNames(t *testing.T) {
	a, b, c := shop("a"), shop("b"), shop("c")
	other := informer.Name{Namespace: "aaa", Name: "z"}
	require.Nil(t, mergeNames())
	require.Equal(t, []informer.Name{a, b}, mergeNames([]informer.Name{a, b}))
	require.Equal(t, []informer.Name{a, b}, mergeNames([]informer.Name{b, a}))
	require.Equal(t, []informer.Name{other, a, b, c}, mergeNames([]informer.Name{a, c}, nil, []informer.Name{b, a, other}))
}

func TestMemoryCountsEndpoints(t *testing.T) {
	a := newTestAgent(t, Options{}, threeServices()...)
	remember := func(name string) {
		s, ok := a.store.Service(shop(name))
		require.True(t, ok)
		a.memory.remember(a.policies.selectService(s, a.currentEnvironment()))
	}
	remember("a")
	remember("b")
	remember("b")
	require.Equal(t, 3, a.memory.endpoints)
	require.Equal(t, []informer.Name{shop("b")}, a.memory.counting())
	require.NoError(t, a.store.Set(sliceObject("b", "10.0.0.2@node-a")))
	remember("b")
	require.Equal(t, 2, a.memory.endpoints)
	a.memory.forget(shop("b"))
	require.Equal(t, 1, a.memory.endpoints)
	require.Empty(t, a.memory.counting())
	require.Len(t, a.memory.services, 1)
}

func TestMemoryTellsEachNoticeOnce(t *testing.T) {
	m := newMemory()
	one, two := Notice{Object: "shop/a", Value: "1"}, Notice{Object: "shop/a", Value: "2"}
	require.Equal(t, []Notice{one}, m.fresh("shop/a", []Notice{one}))
	require.Empty(t, m.fresh("shop/a", []Notice{one}))
	require.Equal(t, []Notice{two}, m.fresh("shop/a", []Notice{one, two}))
	require.Empty(t, m.fresh("shop/a", nil), "nothing is wrong any more")
	require.Equal(t, []Notice{one}, m.fresh("shop/a", []Notice{one}), "what comes back is told again")
}
