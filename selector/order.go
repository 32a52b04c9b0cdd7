package selector

import (
	"cmp"
	"slices"
)

// inOrder returns the endpoints in the order of their addresses, each address
// once. It returns eps itself when that is what it holds, which is the rule, and
// a new slice otherwise; eps is never changed.
func inOrder(eps []Endpoint) []Endpoint {
	if ascending(eps) {
		return eps
	}
	sorted := slices.Clone(eps)
	slices.SortFunc(sorted, func(a, b Endpoint) int { return compareEndpoints(&a, &b) })
	return slices.CompactFunc(sorted, func(a, b Endpoint) bool { return a.Addr == b.Addr })
}

func ascending(eps []Endpoint) bool {
	for i := 1; i < len(eps); i++ {
		if eps[i-1].Addr.Compare(eps[i].Addr) >= 0 {
			return false
		}
	}
	return true
}

// compareEndpoints orders by address. Of two endpoints with one address, the
// one that counts comes first: it is the one that is not terminating, because
// the address of a pod that is on its way out may belong to a new pod already.
// All that follows only serves to make the winner independent of the input's
// order, so every field takes part.
func compareEndpoints(a, b *Endpoint) int {
	return cmp.Or(
		a.Addr.Compare(b.Addr),
		falseFirst(a.Terminating, b.Terminating),
		falseFirst(!a.Ready, !b.Ready),
		falseFirst(!a.Serving, !b.Serving),
		cmp.Compare(a.Node, b.Node),
		cmp.Compare(a.Zone, b.Zone),
		slices.Compare(a.HintNodes, b.HintNodes),
		slices.Compare(a.HintZones, b.HintZones),
	)
}

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// backendsInOrder is inOrder for backends, but keeps duplicates.
func backendsInOrder(backends []Backend) []Backend {
	byAddr := func(a, b Backend) int { return a.Addr.Compare(b.Addr) }
	if slices.IsSortedFunc(backends, byAddr) {
		return backends
	}
	sorted := slices.Clone(backends)
	slices.SortStableFunc(sorted, byAddr)
	return sorted
}
