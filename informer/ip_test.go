package informer

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	netutils "k8s.io/utils/net"
)

func TestParseIP(t *testing.T) {
	tests := []struct {
		name string
		text string
		want string // empty: refused
	}{
		{name: "A7: an ordinary IPv4 address", text: "10.0.0.1", want: "10.0.0.1"},
		{name: "A7: leading zeros are decimal, not octal", text: "010.000.010.08", want: "10.0.10.8"},
		{name: "A7: any number of leading zeros", text: "00000000010.0.0.1", want: "10.0.0.1"},
		{name: "A7: a number too large is refused, with or without zeros", text: "0256.0.0.1"},
		{name: "A7: three numbers are not an address", text: "10.0.1"},
		{name: "A7: five numbers are not an address", text: "10.0.0.0.1"},
		{name: "A7: an empty number is refused", text: "10..0.1"},
		{name: "A7: an ordinary IPv6 address", text: "fd00:10::1", want: "fd00:10::1"},
		{name: "A7: a long IPv6 group with leading zeros", text: "0fd00:00010::00001", want: "fd00:10::1"},
		{name: "A7: an IPv6 group too large is refused", text: "1fd00::1"},
		{name: "A7: an IPv4-mapped address is the IPv4 address", text: "::ffff:10.0.0.1", want: "10.0.0.1"},
		{name: "A7: an IPv4-mapped address with leading zeros", text: "::ffff:010.0.0.01", want: "10.0.0.1"},
		{name: "A7: an IPv4-mapped address in hexadecimal", text: "::ffff:a00:1", want: "10.0.0.1"},
		{name: "A7: an IPv4-compatible address stays IPv6", text: "::10.0.0.1", want: "::a00:1"},
		{name: "A7: a zone is refused", text: "fe80::1%eth0"},
		{name: "A7: an empty zone is refused", text: "fe80::1%"},
		{name: "A7: empty text is refused", text: ""},
		{name: "A7: a blank is refused", text: " "},
		{name: "A7: blanks around an address are refused", text: " 10.0.0.1"},
		{name: "A7: a prefix is refused", text: "10.0.0.0/8"},
		{name: "A7: a port is refused", text: "10.0.0.1:80"},
		{name: "A7: a sign is refused", text: "+10.0.0.1"},
		{name: "A7: a hexadecimal IPv4 number is refused", text: "0x0a.0.0.1"},
		{name: "A7: a name is refused", text: "localhost"},
		{name: "A7: full-width digits are refused", text: "１0.0.0.1"},
		{name: "A7: text of any length is refused quickly", text: strings.Repeat("0", 1<<20) + ".0.0.1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := parseIP(tt.text)
			require.Equal(t, tt.want != "", ok)
			if ok {
				require.Equal(t, netip.MustParseAddr(tt.want), got)
			}
		})
	}
}

// FuzzParseIP compares with the parser that the API server and kube-proxy use.
func FuzzParseIP(f *testing.F) {
	for _, seed := range []string{
		"", "10.0.0.1", "010.0.0.01", "::", "::1", "fd00::00001", "::ffff:1.2.3.4", "::ffff:01.2.3.4", "1::2::3",
		"1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7.8.9.10", "fe80::1%eth0", "00000000000.0.0.0", "1.2.3", ":::", "0::0.0.0.0.",
		"1:", ":1", "00:", "0:00:", "::00000ffff", "1.2.3.4.", "0.0.0.00x", "::0001.2.3.4",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := parseIP(text)
		if len(text) > maxIPText {
			require.False(t, ok, "text beyond the limit")
			return
		}
		want := netutils.ParseIPSloppy(text)
		require.Equal(t, want != nil, ok, "accepted %q", text)
		if !ok {
			return
		}
		require.True(t, want.Equal(net.IP(got.AsSlice())), "%q: want %v, got %v", text, want, got)
		require.Equal(t, want.To4() != nil, got.Is4(), "family of %q", text)
		require.Empty(t, got.Zone())
		again, ok := parseIP(got.String())
		require.True(t, ok)
		require.Equal(t, got, again, "what is printed is read as the same")
	})
}

func TestEndpointAddr(t *testing.T) {
	tests := []struct {
		name   string
		text   string
		v6     bool
		reason string // part of it; empty: accepted
	}{
		{name: "E7: an address of the right family", text: "10.1.1.5"},
		{name: "E7: an IPv6 address in an IPv6 slice", text: "fd00:10::5", v6: true},
		{name: "E7: what is no address", text: "not-an-ip", reason: "not an IP address"},
		{name: "E7: an IPv6 address in an IPv4 slice", text: "fd00:10::5", reason: "address type"},
		{name: "E7: an IPv4 address in an IPv6 slice", text: "10.1.1.5", v6: true, reason: "address type"},
		{name: "E7: a mapped IPv4 address in an IPv6 slice", text: "::ffff:10.1.1.5", v6: true, reason: "address type"},
		{name: "E7: the unspecified IPv4 address", text: "0.0.0.0", reason: "unspecified"},
		{name: "E7: the unspecified IPv6 address", text: "::", v6: true, reason: "unspecified"},
		{name: "E7: IPv4 loopback", text: "127.0.0.53", reason: "loopback"},
		{name: "E7: IPv6 loopback", text: "::1", v6: true, reason: "loopback"},
		{name: "E7: IPv4 link-local", text: "169.254.169.254", reason: "link-local"},
		{name: "E7: IPv6 link-local", text: "fe80::1", v6: true, reason: "link-local"},
		{name: "E7: IPv4 multicast", text: "239.1.1.1", reason: "multicast"},
		{name: "E7: IPv6 multicast", text: "ff05::1", v6: true, reason: "multicast"},
		{name: "E7: broadcast", text: "255.255.255.255", reason: "broadcast"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, reason := endpointAddr(tt.text, tt.v6)
			if tt.reason == "" {
				require.Empty(t, reason)
				return
			}
			require.Contains(t, reason, tt.reason)
		})
	}
}

func TestServiceAddr(t *testing.T) {
	for text, reason := range map[string]string{
		"10.96.0.1":   "",
		"169.254.0.5": "",
		"fd00::1":     "",
		"0.0.0.0":     "unspecified",
		"127.0.0.1":   "loopback",
		"224.0.0.1":   "multicast",
		" ":           "not an IP address",
	} {
		_, got := serviceAddr(text)
		if reason == "" {
			require.Empty(t, got, text)
			continue
		}
		require.Contains(t, got, reason, text)
	}
}
