package selector_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/nearside/nearside/selector"
)

// filter returns the endpoints that keep accepts.
func filter(eps []selector.Endpoint, keep func(selector.Endpoint) bool) []selector.Endpoint {
	return slices.Collect(func(yield func(selector.Endpoint) bool) {
		for _, e := range eps {
			if keep(e) && !yield(e) {
				return
			}
		}
	})
}

func isReady(e selector.Endpoint) bool { return e.Ready }

func isDraining(e selector.Endpoint) bool { return !e.Ready && e.Serving && e.Terminating }

// clusterSet is statements R1 and T2 to T4, word by word and without any of the
// package's own code.
func clusterSet(eps []selector.Endpoint, n selector.Node) []selector.Endpoint {
	ready := filter(eps, isReady)
	if len(ready) == 0 {
		return filter(eps, isDraining)
	}
	allHave := func(hints func(selector.Endpoint) []string) bool {
		return len(filter(ready, func(e selector.Endpoint) bool { return len(hints(e)) == 0 })) == 0
	}
	naming := func(hints func(selector.Endpoint) []string, name string) []selector.Endpoint {
		if name == "" || !allHave(hints) {
			return nil
		}
		return filter(ready, func(e selector.Endpoint) bool { return slices.Contains(hints(e), name) })
	}
	if chosen := naming(func(e selector.Endpoint) []string { return e.HintNodes }, n.Name); len(chosen) > 0 {
		return chosen
	}
	if chosen := naming(func(e selector.Endpoint) []string { return e.HintZones }, n.Zone); len(chosen) > 0 {
		return chosen
	}
	return ready
}

// localSet is statement R2.
func localSet(eps []selector.Endpoint, n selector.Node) []selector.Endpoint {
	local := filter(eps, func(e selector.Endpoint) bool { return e.Node != "" && e.Node == n.Name })
	if ready := filter(local, isReady); len(ready) > 0 {
		return ready
	}
	return filter(local, isDraining)
}

// TestPoliciesAgreeWithTheStatements compares with a second, naive writing of
// the statements, over requests that hold each address once.
func TestPoliciesAgreeWithTheStatements(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := anyRequest(t)
		slices.SortFunc(req.Endpoints, func(a, b selector.Endpoint) int { return a.Addr.Compare(b.Addr) })
		req.Endpoints = slices.CompactFunc(req.Endpoints, func(a, b selector.Endpoint) bool { return a.Addr == b.Addr })

		want := clusterSet(req.Endpoints, req.Node)
		if req.Policy() == selector.PolicyLocal {
			want = localSet(req.Endpoints, req.Node)
		}
		sel := selector.Cluster{}.Select(&req)
		var backends []selector.Backend
		for _, e := range want {
			backends = append(backends, selector.Backend{Addr: e.Addr, Weight: 1})
		}
		require.Equal(t, backends, sel.Backends)
		if len(want) == 0 {
			anywhere := filter(req.Endpoints, func(e selector.Endpoint) bool { return isReady(e) || isDraining(e) })
			require.Equal(t, len(anywhere) > 0, sel.Empty == selector.Drop, "R4: drop where endpoints exist, reject where none do")
		}
	})
}
