package selector_test

import (
	"math"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/nearside/nearside/selector"
)

func nan() float64 { return math.NaN() }

var (
	anyNode = rapid.SampledFrom([]string{"node-a", "node-b", "node-c", ""})
	anyZone = rapid.SampledFrom([]string{"zone-1", "zone-2", ""})
)

// anyEndpoint draws from few addresses, so that records of one address meet.
func anyEndpoint(t *rapid.T) selector.Endpoint {
	ip := rapid.SampledFrom([]string{"10.1.1.1", "10.1.1.2", "10.1.2.1", "10.1.2.2", "10.1.3.1", "fd00:10::1"}).Draw(t, "ip")
	port := rapid.SampledFrom([]uint16{80, 8080}).Draw(t, "port")
	flag := rapid.Bool()
	return selector.Endpoint{
		Addr:        netip.AddrPortFrom(netip.MustParseAddr(ip), port),
		Node:        anyNode.Draw(t, "node"),
		Zone:        anyZone.Draw(t, "zone"),
		HintNodes:   rapid.SliceOfN(anyNode, 0, 2).Draw(t, "hint nodes"),
		HintZones:   rapid.SliceOfN(anyZone, 0, 2).Draw(t, "hint zones"),
		Ready:       flag.Draw(t, "ready"),
		Serving:     flag.Draw(t, "serving"),
		Terminating: flag.Draw(t, "terminating"),
	}
}

// anyRequest draws any request; its endpoints come in any order, and records of
// one address may differ in everything.
func anyRequest(t *rapid.T) selector.Request {
	policy := rapid.SampledFrom([]selector.TrafficPolicy{selector.PolicyCluster, selector.PolicyLocal})
	return selector.Request{
		Port:      selector.ServicePort{Internal: policy.Draw(t, "internal"), External: policy.Draw(t, "external")},
		Traffic:   rapid.SampledFrom([]selector.Traffic{selector.Internal, selector.External}).Draw(t, "traffic"),
		Node:      selector.Node{Name: anyNode.Draw(t, "node"), Zone: anyZone.Draw(t, "zone")},
		Nodes:     rapid.IntRange(0, 8).Draw(t, "nodes"),
		Endpoints: rapid.SliceOfN(rapid.Custom(anyEndpoint), 0, 9).Draw(t, "endpoints"),
	}
}

// hostile answers whatever the test drew, whether it is allowed or not.
type hostile struct{ answer selector.Selection }

func (h hostile) Select(*selector.Request) selector.Selection { return h.answer }

func anyHostile(t *rapid.T, req *selector.Request) selector.Selector {
	backends := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) selector.Backend {
		from := append(slices.Clone(req.Endpoints), selector.Endpoint{Addr: addr("192.0.2.1")})
		return selector.Backend{
			Addr:   rapid.SampledFrom(from).Draw(t, "backend").Addr,
			Weight: rapid.SampledFrom([]int{-1, 0, 1, 1, 1, 2, 3, selector.MaxWeight, selector.MaxWeight + 1}).Draw(t, "weight"),
		}
	}), 0, 4).Draw(t, "backends")
	return hostile{selector.Selection{
		Backends: backends,
		Scope:    rapid.SampledFrom([]selector.Scope{selector.ScopeCluster, selector.ScopeNode}).Draw(t, "scope"),
		Empty:    rapid.SampledFrom([]selector.Verdict{selector.Reject, selector.Drop}).Draw(t, "empty"),
	}}
}

// records returns for every address the record that counts, by the words of
// statement E5: any that is not terminating beats any that is.
func records(req *selector.Request) map[netip.AddrPort][]selector.Endpoint {
	living, leaving := map[netip.AddrPort][]selector.Endpoint{}, map[netip.AddrPort][]selector.Endpoint{}
	for _, e := range req.Endpoints {
		if e.Terminating {
			leaving[e.Addr] = append(leaving[e.Addr], e)
		} else {
			living[e.Addr] = append(living[e.Addr], e)
		}
	}
	for a, eps := range leaving {
		if len(living[a]) == 0 {
			living[a] = eps
		}
	}
	return living
}

// requireLawful states the rules that hold for every selector.
func requireLawful(t *rapid.T, req *selector.Request, sel selector.Selection) {
	byAddr := records(req)
	slots := 0
	for i, b := range sel.Backends {
		if i > 0 {
			require.Negative(t, sel.Backends[i-1].Addr.Compare(b.Addr), "backends are in order, each once")
		}
		require.True(t, slices.ContainsFunc(byAddr[b.Addr], func(e selector.Endpoint) bool {
			usable := e.Ready || e.Serving && e.Terminating
			local := e.Node != "" && e.Node == req.Node.Name
			return usable && (local || req.Policy() == selector.PolicyCluster)
		}), "%v is usable, and local where it must be", b.Addr)
		require.GreaterOrEqual(t, b.Weight, 1)
		slots += b.Weight
	}
	require.LessOrEqual(t, slots, selector.MaxWeight)
	require.NotEmpty(t, sel.Reason.Code)
	require.NotEmpty(t, sel.Reason.Text)
}

func TestEverySelectorKeepsTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := anyRequest(t)
		for _, p := range policies {
			requireLawful(t, &req, p.selector.Select(&req))
		}
	})
}

func TestEvenAHostileSelectorKeepsTheRulesThroughEnforce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := anyRequest(t)
		sel := selector.Enforce(anyHostile(t, &req)).Select(&req)
		requireLawful(t, &req, sel)

		own := selector.Selector(selector.Cluster{})
		if req.Policy() == selector.PolicyLocal {
			own = selector.Local{}
		}
		want := own.Select(&req)
		require.Equal(t, len(want.Backends) == 0, len(sel.Backends) == 0, "what the policy leaves to choose is not thrown away")
		if len(want.Backends) == 0 {
			require.Equal(t, want.Empty, sel.Empty, "the verdict follows the traffic policy")
		}
		if sel.Reason.Code == selector.SelectorViolation {
			require.Equal(t, want.Backends, sel.Backends, "a broken answer is replaced as a whole")
		}
	})
}

func TestPolicyLocalMakesAllPoliciesOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := anyRequest(t)
		req.Port.Internal, req.Port.External = selector.PolicyLocal, selector.PolicyLocal
		want := selector.Local{}.Select(&req)
		for _, p := range policies {
			require.Equal(t, want, p.selector.Select(&req), p.name)
		}
	})
}

func TestPoliciesThatPreferThisNodeEqualLocalOrCluster(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := anyRequest(t)
		req.Port.Internal, req.Port.External = selector.PolicyCluster, selector.PolicyCluster
		local, cluster := selector.Local{}.Select(&req), selector.Cluster{}.Select(&req)

		sel := selector.PreferLocal{}.Select(&req)
		if local.Reason.Code == selector.LocalReady {
			require.Equal(t, local, sel)
		} else {
			require.Equal(t, cluster.Backends, sel.Backends)
			require.Equal(t, cluster.Scope, sel.Scope)
			require.True(t, sel.Fallback)
		}

		plenty := selector.LocalIfPlenty{}.Select(&req)
		if plenty.Reason.Code == selector.PlentyLocal {
			require.Equal(t, local.Backends, plenty.Backends)
			require.Equal(t, selector.LocalReady, local.Reason.Code)
		} else {
			require.Equal(t, cluster.Backends, plenty.Backends)
			require.Equal(t, cluster.Scope, plenty.Scope)
		}
	})
}

func TestTheOrderOfTheEndpointsNeverMatters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := anyRequest(t)
		shuffled := req
		shuffled.Endpoints = rapid.Permutation(req.Endpoints).Draw(t, "shuffled")
		for _, p := range policies {
			want, got := p.selector.Select(&req), p.selector.Select(&shuffled)
			require.Equal(t, want, got, p.name)
			require.Equal(t, selector.Explain(&req, want), selector.Explain(&shuffled, got), p.name)
		}
		broken := anyHostile(t, &req)
		require.Equal(t, selector.Enforce(broken).Select(&req), selector.Enforce(broken).Select(&shuffled), "Enforce")
	})
}

func TestASelectionLeavesTheRequestAndItselfAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := anyRequest(t)
		before := req
		before.Endpoints = slices.Clone(req.Endpoints)
		for _, p := range policies {
			first := p.selector.Select(&req)
			require.Equal(t, first, p.selector.Select(&req), "%s answers the same request in the same way", p.name)
			require.Equal(t, before, req, "%s does not write to the request", p.name)
		}
	})
}

// TestWhicheverRecordOfAnAddressComesFirst is the same for two records that
// differ in one thing only, which chance seldom draws.
func TestWhicheverRecordOfAnAddressComesFirst(t *testing.T) {
	for _, tc := range []struct {
		name     string
		one, two selector.Endpoint
	}{
		{name: "terminating", one: ready("10.1.1.1", "node-a"), two: published("10.1.1.1", "node-a")},
		{name: "ready", one: ready("10.1.1.1", "node-a"), two: unready("10.1.1.1", "node-a")},
		{name: "serving", one: draining("10.1.1.1", "node-a"), two: gone("10.1.1.1", "node-a")},
		{name: "node", one: ready("10.1.1.1", "node-a"), two: ready("10.1.1.1", "node-b")},
		{
			name: "zone", one: ready("10.1.1.1", "node-a"),
			two: ready("10.1.1.1", "node-a", func(e *selector.Endpoint) { e.Zone = "zone-2" }),
		},
		{name: "node hints", one: ready("10.1.1.1", "node-b", forNodes("node-a")), two: ready("10.1.1.1", "node-b", forNodes("node-b"))},
		{name: "zone hints", one: ready("10.1.1.1", "node-b", forZones("zone-1")), two: ready("10.1.1.1", "node-b", forZones("zone-2"))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			other := ready("10.1.3.1", "node-c", forNodes("node-c"), forZones("zone-2"))
			first, second := request(tc.one, tc.two, other), request(other, tc.two, tc.one)
			alone, turned := request(tc.one, tc.two), request(tc.two, tc.one)
			for _, p := range policies {
				for _, pair := range [][2]selector.Request{{first, second}, {alone, turned}} {
					a, b := p.selector.Select(&pair[0]), p.selector.Select(&pair[1])
					require.Equal(t, a, b, p.name)
					require.Equal(t, selector.Explain(&pair[0], a), selector.Explain(&pair[1], b), p.name)
				}
			}
		})
	}
}
