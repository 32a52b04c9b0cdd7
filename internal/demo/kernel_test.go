package demo

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/nft"
)

func TestParseDestinations(t *testing.T) {
	ap := netip.MustParseAddrPort
	backend := func(addr string) nft.Backend { return nft.Backend{Addr: ap(addr), Weight: 1} }
	table, problems := nft.Compile(nft.Config{Family: nft.IPv4}, []nft.Service{
		{Name: "shop/cart", Frontends: []nft.Frontend{{
			Addr: ap("10.96.0.10:80"), Protocol: nft.TCP,
			Backends: []nft.Backend{backend("10.244.2.12:8080"), backend("10.244.1.12:8080"), backend("10.244.2.11:8080")},
		}}},
		{Name: "shop/stock", Frontends: []nft.Frontend{{Addr: ap("10.96.0.20:80"), Protocol: nft.TCP, Empty: nft.Drop}}},
		{Name: "shop/none", Frontends: []nft.Frontend{{Addr: ap("10.96.0.30:80"), Protocol: nft.TCP, Empty: nft.Reject}}},
		{Name: "infra/dns", Frontends: []nft.Frontend{{
			Addr: ap("10.96.0.53:53"), Protocol: nft.UDP, Backends: []nft.Backend{backend("10.244.1.9:53")},
		}}},
	})
	require.Empty(t, problems)
	got := parseDestinations(table.Ruleset().Text())
	require.Equal(t, destinations{
		ap("10.96.0.10:80"): {ap("10.244.1.12:8080"), ap("10.244.2.11:8080"), ap("10.244.2.12:8080")},
		ap("10.96.0.20:80"): nil,
		ap("10.96.0.30:80"): nil,
	}, got)
}

func TestDestinationsHolds(t *testing.T) {
	ap := netip.MustParseAddrPort
	got := destinations{ap("10.96.0.10:80"): {ap("10.0.0.1:8080")}, ap("10.96.0.20:80"): nil}
	require.True(t, got.holds(destinations{ap("10.96.0.10:80"): {ap("10.0.0.1:8080")}}))
	require.True(t, got.holds(destinations{ap("10.96.0.20:80"): nil}), "nothing is expected there")
	require.False(t, got.holds(destinations{ap("10.96.0.30:80"): nil}), "an unknown frontend is not one that drops")
	require.False(t, got.holds(destinations{ap("10.96.0.10:80"): {ap("10.0.0.2:8080")}}))
	require.False(t, got.holds(destinations{ap("10.96.0.10:80"): nil}))
	require.Equal(t, "10.96.0.10:80: [10.0.0.1:8080], 10.96.0.20:80: []", got.String())
	require.Equal(t, "nowhere", destinations(nil).String())
}
