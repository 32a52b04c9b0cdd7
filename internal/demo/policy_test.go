package demo

import (
	"maps"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/selector"
)

func TestAllowed(t *testing.T) {
	sc := theScenario()
	tests := []struct {
		name          string
		policy        policy
		service, node string
		change        conditions
		want          []string
	}{
		{name: "Cluster allows all", policy: policyCluster, service: "cart", node: "node-a", want: []string{"cart-1", "cart-2", "cart-3"}},
		{name: "PreferLocal stays on the node", policy: policyPreferLocal, service: "cart", node: "node-a", want: []string{"cart-1"}},
		{name: "PreferLocal leaves a node without endpoint", policy: policyPreferLocal, service: "cart", node: "node-c", want: []string{"cart-1", "cart-2", "cart-3"}},
		{
			name: "PreferLocal leaves an endpoint that is terminating", policy: policyPreferLocal, service: "cart", node: "node-a",
			change: conditions{"cart-1": terminating}, want: []string{"cart-2", "cart-3"},
		},
		{name: "LocalIfPlenty stays where there are plenty", policy: policyLocalIfPlenty, service: "cart", node: "node-b", want: []string{"cart-2", "cart-3"}},
		{name: "LocalIfPlenty leaves where there are few", policy: policyLocalIfPlenty, service: "stock", node: "node-a", want: []string{"stock-1", "stock-2"}},
		{name: "Local stays on the node", policy: policyLocal, service: "stock", node: "node-c", want: []string{"stock-2"}},
		{
			name: "Local stays with an endpoint that is terminating", policy: policyLocal, service: "cart", node: "node-a",
			change: conditions{"cart-1": terminating}, want: []string{"cart-1"},
		},
		{name: "Local allows nothing on a node without endpoint", policy: policyLocal, service: "cart", node: "node-c"},
		{
			name: "a spare pod is an endpoint once it is ready", policy: policyPreferLocal, service: "cart", node: "node-a",
			change: conditions{"cart-1": absent, "cart-4": ready}, want: []string{"cart-4"},
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			now := sc.start()
			maps.Copy(now, tc.change)
			require.Equal(t, tc.want, sc.allowed(tc.policy, tc.service, tc.node, now))
		})
	}
}

// TestThePoliciesDiffer holds the scenario to its purpose.
func TestThePoliciesDiffer(t *testing.T) {
	sc := theScenario()
	what := func(p policy) (all [][]string) {
		for _, s := range sc.services {
			for _, node := range sc.nodes() {
				all = append(all, sc.allowed(p, s.name, node, sc.start()))
			}
		}
		return all
	}
	for i, p := range policies() {
		for _, q := range policies()[i+1:] {
			require.NotEqual(t, what(p), what(q), "%s and %s show the same", p.name, q.name)
		}
	}
}

// TestAllowedAgreesWithSelector compares the two ideas of the policies that the
// repository has.
func TestAllowedAgreesWithSelector(t *testing.T) {
	sc := theScenario()
	addr := make(map[string]netip.AddrPort)
	for i, p := range sc.pods {
		addr[p.name] = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), backendPort)
	}
	for _, states := range []conditions{nil, {"cart-1": terminating}, {"cart-1": absent},
		{"cart-1": terminating, "cart-2": terminating, "cart-3": terminating}, {"cart-1": absent, "cart-4": ready}} {
		now := sc.start()
		maps.Copy(now, states)
		for _, p := range policies() {
			for _, s := range sc.services {
				for _, node := range sc.nodes() {
					var want []netip.AddrPort
					for _, name := range sc.allowed(p, s.name, node, now) {
						want = append(want, addr[name])
					}
					require.Equal(t, want, selected(t, sc, p, s.name, node, now, addr), "%s %s %s %v", p.name, s.name, node, states)
				}
			}
		}
	}
}

// selected is the answer of package selector.
func selected(t *testing.T, sc *scenario, p policy, service, node string, now conditions, addr map[string]netip.AddrPort) (got []netip.AddrPort) {
	t.Helper()
	req := &selector.Request{
		Node:  selector.Node{Name: node, Zone: sc.zone(node)},
		Nodes: len(sc.nodes()) + len(sc.idle),
	}
	name := p.annotation
	if p.local {
		req.Port.Internal, name = selector.PolicyLocal, "Cluster"
	}
	for _, pod := range sc.pods {
		if pod.service == service && now[pod.name] != absent {
			req.Endpoints = append(req.Endpoints, selector.Endpoint{
				Addr: addr[pod.name], Node: pod.node, Zone: sc.zone(pod.node),
				Ready: now[pod.name] == ready, Serving: true, Terminating: now[pod.name] == terminating,
			})
		}
	}
	sel, ok := selector.Builtin(name)
	require.True(t, ok, name)
	for _, b := range sel.Select(req).Backends {
		got = append(got, b.Addr)
	}
	return got
}
