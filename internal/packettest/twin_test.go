package packettest

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTwinsReadAlike(t *testing.T) {
	for v4, want := range map[string]string{
		"10.96.0.10":   "fd00:10:96::10",
		"10.1.1.255":   "fd00:10:1:1::255",
		"198.51.100.7": "2001:db8:51:100::7",
		"192.0.2.11":   "2001:db8:0:2::11",
		"0.0.0.0":      "::",
	} {
		require.Equal(t, netip.MustParseAddr(want), Twin(netip.MustParseAddr(v4)))
	}
	require.Equal(t, "fd00:10:1::/48", TwinPrefix(netip.MustParsePrefix("10.1.0.0/16")).String())
	require.Equal(t, "::/0", TwinPrefix(netip.MustParsePrefix("0.0.0.0/0")).String())
	require.Equal(t, "[fd00:10:96::10]:80", TwinPort(To("10.96.0.10:80")).String())
	require.Panics(t, func() { TwinPrefix(netip.MustParsePrefix("10.0.0.0/12")) })
}

func TestTwinOfAHostSourceStaysWithoutAddress(t *testing.T) {
	require.Equal(t, Host(), Host().Twin())
	require.Equal(t, Pod("fd00:10:1:1::5"), Pod("10.1.1.5").Twin())
}
