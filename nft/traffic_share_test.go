package nft_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/internal/packettest"
	"github.com/nearside/nearside/nft"
)

// Weights are shares of connections. With right shares the statistic is beyond
// its bound once in 10^9 runs; with shares that are wrong by a twentieth of all
// connections it is beyond it practically always.
func TestTrafficIsSharedByWeight(t *testing.T) {
	const probes = 3000
	weights := map[string]int{farA: 1, farB: 2, nearA: 5}
	fe := speaking(packettest.TCP, webIP, farA, farB, "@"+nearA)
	total := 0
	for i := range fe.Backends {
		fe.Backends[i].Weight = weights[fe.Backends[i].Addr.String()]
		total += fe.Backends[i].Weight
	}
	n := newNode(t)
	for _, f := range nft.Families {
		t.Run(f.String(), func(t *testing.T) {
			n.serve(t, podsKnown.config(f), nft.Service{Name: "demo/web", Frontends: []nft.Frontend{fe}})
			got := map[netip.AddrPort]int{}
			for range probes {
				got[n.probe(t, f, packettest.Probe{From: aPod, To: packettest.To(webIP), Proto: packettest.TCP}).To]++
			}
			chiSquare := 0.0
			for endpoint, weight := range weights {
				want := float64(probes*weight) / float64(total)
				off := float64(got[inFamily(f, packettest.To(endpoint))]) - want
				chiSquare += off * off / want
			}
			// Of three shares two are free, and with two degrees of freedom the
			// statistic exceeds x with probability exp(-x/2).
			const bound = 41.45
			require.Less(t, chiSquare, bound, "%v", got)
			require.Len(t, got, len(weights), "%v", got)
		})
	}
}
