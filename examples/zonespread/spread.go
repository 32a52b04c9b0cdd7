package main

import (
	"net/netip"

	"github.com/nearside/nearside/selector"
)

// ZoneSpread gives every zone that has an endpoint the same share of new
// connections, however many endpoints it has, and every endpoint of a zone the
// same share of that. It suits services whose zones must stay loaded alike while
// one of them is scaled or replaced.
//
// It takes the endpoints that Cluster chooses and only weighs them, so it need
// not know the rules for readiness, traffic policy and topology hints itself.
type ZoneSpread struct{}

// Select implements selector.Selector.
func (ZoneSpread) Select(req *selector.Request) selector.Selection {
	sel := selector.Cluster{}.Select(req)
	if req.Policy() == selector.PolicyLocal || len(sel.Backends) == 0 {
		return sel
	}
	zoneOf := make(map[netip.AddrPort]string, len(req.Endpoints))
	for _, e := range req.Endpoints {
		zoneOf[e.Addr] = e.Zone
	}
	inZone := map[string]int{}
	for _, b := range sel.Backends {
		inZone[zoneOf[b.Addr]]++
	}
	weightIn := weights(inZone)
	for i, b := range sel.Backends {
		sel.Backends[i].Weight = weightIn[zoneOf[b.Addr]]
	}
	sel.Reason = selector.Reason{Code: "ZoneSpread", Text: "every zone with an endpoint gets an equal share"}
	return sel
}

// maxWeight keeps the weights small: each unit is a slot of a kernel table.
const maxWeight = 24

// weights returns the weight of one endpoint in each zone, given the number of
// endpoints there. A zone's endpoints share equally in the zone's slots, whose
// number is the least that all zones can divide evenly. Where an endpoint would
// need more than maxWeight slots for that, the shares come as near to equal as
// maxWeight allows.
func weights(inZone map[string]int) map[string]int {
	fewest := 0
	for _, n := range inZone {
		if fewest == 0 || n < fewest {
			fewest = n
		}
	}
	limit := maxWeight * fewest
	slots := 1
	for _, n := range inZone {
		if slots <= limit {
			slots = lcm(slots, n)
		}
	}
	slots = min(slots, limit)
	weights := make(map[string]int, len(inZone))
	for zone, n := range inZone {
		weights[zone] = max(1, (slots+n/2)/n) // rounded; exact below the limit
	}
	return weights
}

// lcm returns the least common multiple of two positive numbers.
func lcm(a, b int) int {
	gcd, rest := a, b
	for rest != 0 {
		gcd, rest = rest, gcd%rest
	}
	return a / gcd * b
}
