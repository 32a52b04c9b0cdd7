package main

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/nearside/nearside/selector"
)

// inZones returns a request with n ready endpoints in each zone.
func inZones(numbers ...int) *selector.Request {
	req := &selector.Request{}
	for zone, n := range numbers {
		for i := range n {
			a := netip.AddrFrom4([4]byte{10, byte(zone), byte(i >> 8), byte(i)})
			req.Endpoints = append(req.Endpoints, selector.Endpoint{
				Addr: netip.AddrPortFrom(a, 80), Zone: string(rune('a' + zone)), Ready: true,
			})
		}
	}
	return req
}

// perZone adds up the weights that each zone of req gets.
func perZone(req *selector.Request, sel selector.Selection) map[string]int {
	sums := map[string]int{}
	for _, x := range selector.Explain(req, sel) {
		sums[x.Zone] += x.Weight
	}
	return sums
}

func TestZonesGetEqualShares(t *testing.T) {
	for _, tc := range []struct {
		name    string
		numbers []int
		want    map[string]int
	}{
		{name: "one zone needs no weights", numbers: []int{5}, want: map[string]int{"a": 5}},
		{name: "zones of one size need no weights", numbers: []int{3, 3}, want: map[string]int{"a": 3, "b": 3}},
		{name: "three, two and one share six slots each", numbers: []int{3, 2, 1}, want: map[string]int{"a": 6, "b": 6, "c": 6}},
		{name: "24 and one are exact at the limit", numbers: []int{24, 1}, want: map[string]int{"a": 24, "b": 24}},
		{name: "30 and one come as near as the limit allows", numbers: []int{30, 1}, want: map[string]int{"a": 30, "b": 24}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req := inZones(tc.numbers...)
			require.Equal(t, tc.want, perZone(req, ZoneSpread{}.Select(req)))
		})
	}
}

func TestZoneSpreadBreaksNoRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfN(rapid.IntRange(1, 40), 1, 4).Draw(t, "endpoints per zone")
		req := inZones(numbers...)
		for i := range req.Endpoints {
			req.Endpoints[i].Node = rapid.SampledFrom([]string{"node-a", "node-b"}).Draw(t, "node")
			req.Endpoints[i].Ready = rapid.Bool().Draw(t, "ready")
		}
		req.Node.Name = "node-a"
		req.Port.Internal = rapid.SampledFrom([]selector.TrafficPolicy{selector.PolicyCluster, selector.PolicyLocal}).Draw(t, "policy")

		sel := selector.Enforce(ZoneSpread{}).Select(req)
		require.NotEqual(t, selector.SelectorViolation, sel.Reason.Code, sel.Reason.Text)
		for _, b := range sel.Backends {
			require.LessOrEqual(t, b.Weight, maxWeight)
		}
	})
}
