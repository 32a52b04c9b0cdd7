package selector_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/selector"
)

// crowd returns n ready endpoints, a quarter of them on node-a, with zone hints.
func crowd(n int) []selector.Endpoint {
	nodes := []string{"node-a", "node-b", "node-c", "node-c"}
	eps := make([]selector.Endpoint, n)
	for i := range eps {
		node := nodes[i%len(nodes)]
		a := netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)})
		eps[i] = selector.Endpoint{
			Addr: netip.AddrPortFrom(a, 8080), Node: node, Zone: zoneOf[node],
			HintZones: []string{zoneOf[node]}, Ready: true, Serving: true,
		}
	}
	return eps
}

var sizes = []int{10, 100, 1_000, 10_000}

// BenchmarkSelect measures one selection; a selection allocates its backends
// and nothing else, whatever the policy and the number of endpoints.
func BenchmarkSelect(b *testing.B) {
	for _, p := range policies {
		for _, n := range sizes {
			req := request(crowd(n)...)
			b.Run(fmt.Sprintf("%s/endpoints=%d", p.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					p.selector.Select(&req)
				}
			})
		}
	}
}

// BenchmarkSelectUnordered measures what endpoints in the wrong order cost.
func BenchmarkSelectUnordered(b *testing.B) {
	for _, n := range sizes {
		req := request(crowd(n)...)
		slices.Reverse(req.Endpoints)
		b.Run(fmt.Sprintf("endpoints=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				selector.Cluster{}.Select(&req)
			}
		})
	}
}

// BenchmarkEnforce measures a selection together with its check.
func BenchmarkEnforce(b *testing.B) {
	enforced := selector.Enforce(selector.Cluster{})
	for _, n := range sizes {
		req := request(crowd(n)...)
		b.Run(fmt.Sprintf("endpoints=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				enforced.Select(&req)
			}
		})
	}
}

// BenchmarkExplain measures the explanation of a selection.
func BenchmarkExplain(b *testing.B) {
	for _, n := range sizes {
		req := request(crowd(n)...)
		sel := selector.Cluster{}.Select(&req)
		b.Run(fmt.Sprintf("endpoints=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				selector.Explain(&req, sel)
			}
		})
	}
}

func TestASelectionAllocatesItsBackendsOnly(t *testing.T) {
	for _, p := range policies {
		for _, s := range []selector.Selector{p.selector, selector.Enforce(p.selector)} {
			for _, req := range []selector.Request{
				request(crowd(1_000)...),
				localOnly(crowd(1_000)...),
			} {
				if p.name == "Local" && req.Policy() != selector.PolicyLocal {
					continue // replaced by Enforce, which says so in a new text
				}
				require.LessOrEqual(t, testing.AllocsPerRun(20, func() { s.Select(&req) }), 1.0,
					"%s under policy %s", p.name, req.Policy())
			}
		}
	}
}
