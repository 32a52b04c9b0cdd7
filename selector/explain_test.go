package selector_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/nearside/nearside/selector"
)

// line is one expected explanation; an endpoint that was not chosen has weight 0.
type line struct {
	ip     string
	state  selector.State
	weight int
	why    string
}

func TestExplain(t *testing.T) {
	const (
		isReady     = selector.StateReady
		terminating = selector.StateTerminating
	)
	mixed := []selector.Endpoint{
		ready("10.1.1.1", "node-a"), draining("10.1.1.2", "node-a"), unready("10.1.1.3", "node-a"),
		gone("10.1.1.4", "node-a"), ready("10.1.2.1", "node-b"), ready("10.1.2.2", ""), draining("10.1.3.1", "node-c"),
	}
	hinted := []selector.Endpoint{
		ready("10.1.1.1", "node-a", forZones("zone-2")),
		ready("10.1.2.1", "node-b", forZones("zone-1", "zone-3")),
		ready("10.1.3.1", "node-c", forZones("zone-2", "zone-3")),
	}
	leaving := []selector.Endpoint{draining("10.1.1.1", "node-a"), draining("10.1.2.1", "node-b"), gone("10.1.3.1", "node-c")}
	external := func(eps ...selector.Endpoint) selector.Request {
		return with(request(eps...), func(r *selector.Request) {
			r.Traffic, r.Port.External = selector.External, selector.PolicyLocal
		})
	}

	for _, tc := range []struct {
		name  string
		given selector.Request
		by    selector.Selector
		want  []line
	}{
		{
			name: "Cluster names the state of those it leaves out", given: request(mixed...), by: selector.Cluster{},
			want: []line{
				{"10.1.1.1", isReady, 1, "ready"},
				{"10.1.1.2", terminating, 0, "terminating, and ready endpoints exist"},
				{"10.1.1.3", selector.StateNotReady, 0, "not ready"},
				{"10.1.1.4", selector.StateNotServing, 0, "terminating and no longer serving"},
				{"10.1.2.1", isReady, 1, "ready"},
				{"10.1.2.2", isReady, 1, "ready"},
				{"10.1.3.1", terminating, 0, "terminating, and ready endpoints exist"},
			},
		},
		{
			name: "PreferLocal stays on the node", given: request(mixed...), by: selector.PreferLocal{},
			want: []line{
				{"10.1.1.1", isReady, 1, "ready, on this node"},
				{"10.1.1.2", terminating, 0, "terminating, and ready endpoints exist on this node"},
				{"10.1.1.3", selector.StateNotReady, 0, "not ready"},
				{"10.1.1.4", selector.StateNotServing, 0, "terminating and no longer serving"},
				{"10.1.2.1", isReady, 0, "on another node, and ready endpoints exist on this node"},
				{"10.1.2.2", isReady, 0, "on a node that is not known, and ready endpoints exist on this node"},
				{"10.1.3.1", terminating, 0, "terminating, and ready endpoints exist on this node"},
			},
		},
		{
			name: "LocalIfPlenty stays on the node when it has plenty", given: request(mixed[0], mixed[4]), by: selector.LocalIfPlenty{},
			want: []line{
				{"10.1.1.1", isReady, 1, "ready, on this node"},
				{"10.1.2.1", isReady, 0, "on another node, and ready endpoints exist on this node"},
			},
		},
		{
			name: "LocalIfPlenty leaves the node when it has few", given: request(mixed[0], mixed[1]), by: selector.LocalIfPlenty{},
			want: []line{
				{"10.1.1.1", isReady, 1, "ready"},
				{"10.1.1.2", terminating, 0, "terminating, and ready endpoints exist"},
			},
		},
		{
			name: "the internal policy Local is named", given: localOnly(mixed...), by: selector.Cluster{},
			want: []line{
				{"10.1.1.1", isReady, 1, "ready, on this node"},
				{"10.1.1.2", terminating, 0, "terminating, and ready endpoints exist on this node"},
				{"10.1.1.3", selector.StateNotReady, 0, "not ready"},
				{"10.1.1.4", selector.StateNotServing, 0, "terminating and no longer serving"},
				{"10.1.2.1", isReady, 0, "on another node, and internalTrafficPolicy is Local"},
				{"10.1.2.2", isReady, 0, "on a node that is not known, and internalTrafficPolicy is Local"},
				{"10.1.3.1", terminating, 0, "on another node, and internalTrafficPolicy is Local"},
			},
		},
		{
			name: "the external policy Local is named, also when nothing is chosen", given: external(mixed[4]), by: selector.PreferLocal{},
			want: []line{{"10.1.2.1", isReady, 0, "on another node, and externalTrafficPolicy is Local"}},
		},
		{
			name: "policy Local falls back on the node's terminating endpoints", given: localOnly(leaving...), by: selector.Local{},
			want: []line{
				{"10.1.1.1", terminating, 1, "terminating but still serving, and no endpoint on this node is ready"},
				{"10.1.2.1", terminating, 0, "on another node, and internalTrafficPolicy is Local"},
				{"10.1.3.1", selector.StateNotServing, 0, "terminating and no longer serving"},
			},
		},
		{
			name: "Local of its own will does not blame the traffic policy", given: request(leaving[0], ready("10.1.2.1", "node-b")), by: selector.Local{},
			want: []line{
				{"10.1.1.1", terminating, 1, "terminating but still serving, and no endpoint on this node is ready"},
				{"10.1.2.1", isReady, 0, "on another node, and only endpoints on this node may be chosen"},
			},
		},
		{
			name: "Local of its own will finds nothing", given: request(ready("10.1.2.1", "node-b")), by: selector.Local{},
			want: []line{{"10.1.2.1", isReady, 0, "on another node, and only endpoints on this node may be chosen"}},
		},
		{
			name: "with nothing ready the terminating ones serve", given: request(leaving...), by: selector.PreferLocal{},
			want: []line{
				{"10.1.1.1", terminating, 1, "terminating but still serving, and no endpoint is ready"},
				{"10.1.2.1", terminating, 1, "terminating but still serving, and no endpoint is ready"},
				{"10.1.3.1", selector.StateNotServing, 0, "terminating and no longer serving"},
			},
		},
		{
			name: "zone hints are quoted", given: request(hinted...), by: selector.Cluster{},
			want: []line{
				{"10.1.1.1", isReady, 0, "its hints name zone-2, not zone-1"},
				{"10.1.2.1", isReady, 1, "ready, and its hints name zone-1"},
				{"10.1.3.1", isReady, 0, "its hints name zone-2, zone-3, not zone-1"},
			},
		},
		{
			name: "zone hints are quoted when PreferLocal falls back on them", given: request(hinted[1:]...), by: selector.PreferLocal{},
			want: []line{
				{"10.1.2.1", isReady, 1, "ready, and its hints name zone-1"},
				{"10.1.3.1", isReady, 0, "its hints name zone-2, zone-3, not zone-1"},
			},
		},
		{
			name:  "node hints are quoted",
			given: request(ready("10.1.1.1", "node-a", forNodes("node-a")), ready("10.1.1.2", "node-a", forNodes("node-b"))), by: selector.Cluster{},
			want: []line{
				{"10.1.1.1", isReady, 1, "ready, and its hints name node-a"},
				{"10.1.1.2", isReady, 0, "its hints name node-b, not node-a"},
			},
		},
		{
			name: "a selector of one's own has reasons of its own", given: request(mixed[0], mixed[4]), by: hostile{weigh("10.1.2.1", 7)},
			want: []line{
				{"10.1.1.1", isReady, 0, "left out by the selector"},
				{"10.1.2.1", isReady, 7, "ready"},
			},
		},
		{
			name:  "and under policy Local too, where hints are none",
			given: localOnly(mixed[0], ready("10.1.1.2", "node-a", forNodes("node-b"))), by: selector.Enforce(hostile{choose("10.1.1.1")}),
			want: []line{
				{"10.1.1.1", isReady, 1, "ready, on this node"},
				{"10.1.1.2", isReady, 0, "left out by the selector"},
			},
		},
		{
			name:  "nor is a terminating endpoint left out for a ready one where none is",
			given: localOnly(leaving[0], draining("10.1.1.2", "node-a")), by: selector.Enforce(hostile{choose("10.1.1.1")}),
			want: []line{
				{"10.1.1.1", terminating, 1, "terminating but still serving, and no endpoint on this node is ready"},
				{"10.1.1.2", terminating, 0, "left out by the selector"},
			},
		},
		{
			name:  "an answer that Enforce replaced is explained like the policy that replaced it",
			given: request(hinted[1:]...), by: selector.Enforce(hostile{choose("192.0.2.1")}),
			want: []line{
				{"10.1.2.1", isReady, 1, "ready, and its hints name zone-1"},
				{"10.1.3.1", isReady, 0, "its hints name zone-2, zone-3, not zone-1"},
			},
		},
		{name: "no endpoint needs no explanation", given: request(), by: selector.Cluster{}, want: []line{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := []line{}
			for _, x := range selector.Explain(&tc.given, tc.by.Select(&tc.given)) {
				require.Equal(t, x.Weight > 0, x.Chosen)
				got = append(got, line{x.Addr.Addr().String(), x.State, x.Weight, x.Why})
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// TestExplainIsCompleteAndTrue checks what can be said of every explanation of
// a built-in policy: it covers each address once, agrees with the selection,
// and never has to say that it does not know.
func TestExplainIsCompleteAndTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := anyRequest(t)
		for _, p := range policies {
			sel := p.selector.Select(&req)
			explanations := selector.Explain(&req, sel)
			require.Len(t, explanations, len(records(&req)))
			var chosen []selector.Backend
			for _, x := range explanations {
				if x.Chosen {
					chosen = append(chosen, selector.Backend{Addr: x.Addr, Weight: x.Weight})
				} else {
					require.Zero(t, x.Weight)
				}
				require.NotEmpty(t, x.Why)
				require.NotContains(t, x.Why, "left out", "%s knows why it left %v out", p.name, x.Addr)
			}
			require.Equal(t, sel.Backends, chosen)
		}
	})
}

func TestExplanationIsPlainJSON(t *testing.T) {
	req := request(ready("10.1.1.1", "node-a"))
	text, err := json.Marshal(selector.Explain(&req, selector.Cluster{}.Select(&req)))
	require.NoError(t, err)
	require.JSONEq(t, `[{"addr": "10.1.1.1:8080", "node": "node-a", "zone": "zone-1",
		"state": "ready", "chosen": true, "weight": 1, "why": "ready"}]`, string(text))
}

func TestExplainTakesBackendsInAnyOrder(t *testing.T) {
	req := request(ready("10.1.1.1", "node-a"), ready("10.1.2.1", "node-b"), ready("10.1.3.1", "node-c"))
	sel := choose("10.1.3.1", "10.1.1.1")
	chosen := slices.DeleteFunc(selector.Explain(&req, sel), func(x selector.Explanation) bool { return !x.Chosen })
	require.Len(t, chosen, 2)
	require.Equal(t, choose("10.1.3.1", "10.1.1.1"), sel, "it leaves the selection alone")
}
