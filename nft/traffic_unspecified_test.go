package nft_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/internal/packettest"
	"github.com/nearside/nearside/nft"
)

// TestTrafficToNoAddress: node ports are kept under the unspecified address,
// which a neighbour may send to, past the addresses that serve node ports. What
// the kernel does with such a packet by itself is its own affair.
func TestTrafficToNoAddress(t *testing.T) {
	n := newNode(t)
	row := trafficRow{node: podsKnown, services: []nft.Service{external(bothPlaces(webNodePort))}}
	for _, f := range nft.Families {
		row.serve(t, n, f)
		for _, p := range []packettest.Protocol{packettest.TCP, packettest.UDP} {
			got := n.probe(t, f, packettest.Probe{From: aClient, To: netip.MustParseAddrPort("0.0.0.0:30080"), Proto: p})
			require.NotEqual(t, packettest.Delivered, got.Kind, "%v %v: %v", f, p, got)
		}
	}
}
