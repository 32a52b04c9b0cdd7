package nodeaddrs

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func parse(texts ...string) (out []netip.Addr) {
	for _, text := range texts {
		out = append(out, netip.MustParseAddr(text))
	}
	return out
}

func prefixes(texts ...string) (out []netip.Prefix) {
	for _, text := range texts {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

func TestSelectAndListen(t *testing.T) {
	local := parse("127.0.0.1", "192.0.2.11", "198.51.100.7", "::1", "2001:db8::11", "fe80::1%eth0")
	node := parse("192.0.2.11", "2001:db8::11")
	for _, c := range []struct {
		name    string
		local   []netip.Addr // nil means those above, unless bare
		node    []netip.Addr // nil means those above, unless unknown
		bare    bool
		unknown bool
		spec    Spec
		want    []netip.Addr
		listen  []netip.Addr
	}{
		{
			name: "primary", spec: Spec{Primary: true},
			want:   parse("192.0.2.11", "2001:db8::11"),
			listen: parse("192.0.2.11", "2001:db8::11"),
		},
		{
			name: "primary is the first of each family", node: parse("198.51.100.7", "192.0.2.11", "2001:db8::11"), spec: Spec{Primary: true},
			want:   parse("198.51.100.7", "2001:db8::11"),
			listen: parse("198.51.100.7", "2001:db8::11"),
		},
		{
			name: "primary that no interface has (1:1 NAT) is served but cannot be listened on",
			node: parse("203.0.113.9", "2001:db8::11"), spec: Spec{Primary: true},
			want:   parse("203.0.113.9", "2001:db8::11"),
			listen: parse("2001:db8::11"),
		},
		{
			name: "primary, and a node without IPv6: every IPv6 address",
			node: parse("192.0.2.11"), spec: Spec{Primary: true},
			want:   parse("192.0.2.11", "2001:db8::11", "fe80::1"),
			listen: parse("192.0.2.11", "::"),
		},
		{
			name: "primary, and no node known yet: nothing", unknown: true, spec: Spec{Primary: true},
		},
		{
			name:    "primary and prefixes, and no node known yet: the prefixes",
			unknown: true, spec: Spec{Primary: true, Prefixes: prefixes("198.51.100.0/24")},
			want:   parse("198.51.100.7"),
			listen: parse("198.51.100.7"),
		},
		{
			name: "all is every address but loopback", spec: Spec{All: true},
			want:   parse("192.0.2.11", "198.51.100.7", "2001:db8::11", "fe80::1"),
			listen: parse("0.0.0.0", "::"),
		},
		{
			name: "all goes before whatever else is named", spec: Spec{All: true, Primary: true, Localhost: true, Prefixes: prefixes("198.51.100.0/24")},
			want:   parse("192.0.2.11", "198.51.100.7", "2001:db8::11", "fe80::1"),
			listen: parse("0.0.0.0", "::"),
		},
		{
			name: "localhost alone serves nothing by NAT", spec: Spec{Localhost: true},
			listen: parse("127.0.0.1", "::1"),
		},
		{
			name: "prefixes of both families", spec: Spec{Prefixes: prefixes("198.51.100.0/24", "2001:db8::/32")},
			want:   parse("198.51.100.7", "2001:db8::11"),
			listen: parse("198.51.100.7", "2001:db8::11"),
		},
		{
			name: "prefixes of one family: every address of the other", spec: Spec{Prefixes: prefixes("198.51.100.0/24")},
			want:   parse("198.51.100.7", "2001:db8::11", "fe80::1"),
			listen: parse("198.51.100.7", "::"),
		},
		{
			name: "localhost keeps the other family from that", spec: Spec{Localhost: true, Prefixes: prefixes("198.51.100.0/24")},
			want:   parse("198.51.100.7"),
			listen: parse("127.0.0.1", "198.51.100.7", "::1"),
		},
		{
			name: "a prefix of everything counts for its family only", spec: Spec{Prefixes: prefixes("0.0.0.0/0", "198.51.100.0/24", "2001:db8:1::/48")},
			want:   parse("192.0.2.11", "198.51.100.7"),
			listen: parse("0.0.0.0"),
		},
		{
			name: "prefixes and primary add up", spec: Spec{Primary: true, Prefixes: prefixes("198.51.100.0/24")},
			want:   parse("192.0.2.11", "198.51.100.7", "2001:db8::11"),
			listen: parse("192.0.2.11", "198.51.100.7", "2001:db8::11"),
		},
		{
			name: "a prefix with loopback in it", spec: Spec{Prefixes: prefixes("127.0.0.0/8", "fe80::/10")},
			want:   parse("fe80::1"),
			listen: parse("127.0.0.1", "fe80::1%eth0"),
		},
		{
			name: "primary is loopback, as on a node without addresses", node: parse("127.0.0.1", "::1"), spec: Spec{Primary: true},
			listen: parse("127.0.0.1", "::1"),
		},
		{
			name: "nothing on the interfaces yet", bare: true, spec: Spec{Prefixes: prefixes("198.51.100.0/24", "2001:db8::/32")},
		},
		{
			name: "an address on two interfaces, one of them as mapped", local: parse("198.51.100.7", "::ffff:198.51.100.7", "198.51.100.7"),
			spec: Spec{Prefixes: prefixes("198.51.100.0/24", "2001:db8::/32")},
			want: parse("198.51.100.7"), listen: parse("198.51.100.7"),
		},
		{
			name: "the zero Spec names nothing, so each family falls back", spec: Spec{},
			want:   parse("192.0.2.11", "198.51.100.7", "2001:db8::11", "fe80::1"),
			listen: parse("0.0.0.0", "::"),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.local == nil && !c.bare {
				c.local = local
			}
			if c.node == nil && !c.unknown {
				c.node = node
			}
			require.ElementsMatch(t, c.want, Select(c.local, c.node, c.spec))
			require.ElementsMatch(t, c.listen, Listen(c.local, c.node, c.spec))
		})
	}
}

func TestSelectHoldsWhatItPromises(t *testing.T) {
	pool := parse("127.0.0.1", "127.9.9.9", "192.0.2.11", "198.51.100.7", "203.0.113.9", "0.0.0.0", "224.0.0.1",
		"::1", "::", "2001:db8::11", "fe80::1%eth0", "fe80::1%eth1", "ff02::1", "::ffff:192.0.2.11")
	nets := prefixes("127.0.0.0/8", "192.0.2.0/24", "198.51.100.7/32", "0.0.0.0/0", "2001:db8::/32", "::/0", "::1/128", "fe80::/10")
	rapid.Check(t, func(t *rapid.T) {
		local := rapid.SliceOf(rapid.SampledFrom(pool)).Draw(t, "local")
		node := rapid.SliceOf(rapid.SampledFrom(pool)).Draw(t, "node")
		spec := Spec{
			Primary: rapid.Bool().Draw(t, "primary"), Localhost: rapid.Bool().Draw(t, "localhost"), All: rapid.Bool().Draw(t, "all"),
			Prefixes: rapid.SliceOf(rapid.SampledFrom(nets)).Draw(t, "prefixes"),
		}
		got := Select(local, node, spec)
		require.True(t, slices.IsSortedFunc(got, netip.Addr.Compare))
		require.Len(t, slices.Compact(slices.Clone(got)), len(got), "each once")
		known := make(map[netip.Addr]bool)
		for _, a := range slices.Concat(local, node) {
			known[a.Unmap().WithZone("")] = true
		}
		for _, a := range got {
			require.False(t, a.IsLoopback() || a.IsUnspecified() || a.IsMulticast() || a.Is4In6() || a.Zone() != "", "%s", a)
			require.True(t, known[a], "%s is nobody's", a)
		}
		// The order in which the kernel lists addresses never matters.
		slices.Reverse(local)
		require.Equal(t, got, Select(local, node, spec))
		// What is listened on by its own address is on an interface.
		for _, a := range Listen(local, node, spec) {
			require.True(t, a.IsUnspecified() || slices.ContainsFunc(local, func(l netip.Addr) bool { return l.Unmap() == a }), "%s", a)
		}
	})
}
