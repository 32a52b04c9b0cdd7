package health

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/selector"
)

func TestCountLocal(t *testing.T) {
	ep := func(addr, node string, ready, terminating bool) selector.Endpoint {
		return selector.Endpoint{Addr: netip.MustParseAddrPort(addr), Node: node, Ready: ready, Serving: true, Terminating: terminating}
	}
	http := []selector.Endpoint{
		ep("10.1.1.5:8080", "node-a", true, false),
		ep("10.1.1.6:8080", "node-a", false, true),
		ep("10.1.1.7:8080", "node-a", true, true), // publishNotReadyAddresses
		ep("10.1.2.5:8080", "node-b", true, false),
		ep("10.1.3.5:8080", "", true, false),
	}
	metrics := []selector.Endpoint{
		ep("10.1.1.5:9090", "node-a", true, false),
		ep("10.1.1.8:9090", "node-a", true, false),
	}
	require.Equal(t, 2, CountLocal("node-a", http))
	require.Equal(t, 3, CountLocal("node-a", http, metrics), "a pod behind two ports counts once")
	require.Equal(t, 1, CountLocal("node-b", http, metrics))
	require.Zero(t, CountLocal("node-c", http, metrics))
	require.Zero(t, CountLocal("", http), "an endpoint without a node is on no node")
	require.Zero(t, CountLocal("node-a"))
}

func TestDistinctAddresses(t *testing.T) {
	parse := func(texts ...string) (out []netip.Addr) {
		for _, text := range texts {
			out = append(out, netip.MustParseAddr(text))
		}
		return out
	}
	for _, c := range []struct {
		name     string
		in, want []netip.Addr
	}{
		{name: "none"},
		{name: "sorted, each once", in: parse("10.0.0.2", "10.0.0.1", "::ffff:10.0.0.2"), want: parse("10.0.0.1", "10.0.0.2")},
		{name: "all of one family", in: parse("10.0.0.2", "0.0.0.0", "2001:db8::1"), want: parse("0.0.0.0", "2001:db8::1")},
		{name: "an invalid one", in: []netip.Addr{{}, netip.IPv6Unspecified()}, want: parse("::")},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, distinct(c.in)) })
	}
}
