package selector_test

import (
	"encoding"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/selector"
)

func TestWords(t *testing.T) {
	for _, tc := range []struct {
		value interface {
			fmt.Stringer
			encoding.TextMarshaler
		}
		want  string
		known bool
	}{
		{value: selector.Internal, want: "internal", known: true},
		{value: selector.External, want: "external", known: true},
		{value: selector.Traffic(2), want: "Traffic(2)"},
		{value: selector.PolicyCluster, want: "Cluster", known: true},
		{value: selector.PolicyLocal, want: "Local", known: true},
		{value: selector.TrafficPolicy(9), want: "TrafficPolicy(9)"},
		{value: selector.ScopeCluster, want: "cluster", known: true},
		{value: selector.ScopeZone, want: "zone", known: true},
		{value: selector.ScopeNode, want: "node", known: true},
		{value: selector.Scope(255), want: "Scope(255)"},
		{value: selector.Reject, want: "reject", known: true},
		{value: selector.Drop, want: "drop", known: true},
		{value: selector.Verdict(2), want: "Verdict(2)"},
	} {
		t.Run(tc.want, func(t *testing.T) {
			require.Equal(t, tc.want, tc.value.String())
			text, err := tc.value.MarshalText()
			if !tc.known {
				require.ErrorContains(t, err, "expected a value below")
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, string(text))
		})
	}
}

func TestBuiltin(t *testing.T) {
	require.Equal(t, []string{"Cluster", "PreferLocal", "LocalIfPlenty"}, selector.Names())
	for _, name := range selector.Names() {
		got, ok := selector.Builtin(name)
		require.True(t, ok, name)
		require.Equal(t, "selector."+name, fmt.Sprintf("%T", got))
	}
	for _, name := range []string{"", "Local", "cluster", "preferlocal", "LocalIfPlenty ", "LoadAware"} {
		got, ok := selector.Builtin(name)
		require.False(t, ok, "%q is no name of a policy that may be chosen", name)
		require.Nil(t, got)
	}
}

func TestShareOfLocalIfPlenty(t *testing.T) {
	// Four ready endpoints, one of them on this node.
	eps := []selector.Endpoint{
		ready("10.1.1.1", "node-a"), ready("10.1.2.1", "node-b"),
		ready("10.1.3.1", "node-c"), ready("10.1.3.2", "node-c"),
	}
	for _, tc := range []struct {
		name  string
		share float64
		nodes int
		want  selector.Code
	}{
		{name: "four endpoints on seven nodes are plenty by default", nodes: 7, want: selector.PlentyLocal},
		{name: "four endpoints on eight nodes are not", nodes: 8, want: selector.TooFewEndpoints},
		{name: "a share of one asks for more endpoints than nodes", share: 1, nodes: 4, want: selector.TooFewEndpoints},
		{name: "a share of one is content with that", share: 1, nodes: 3, want: selector.PlentyLocal},
		{name: "a small share is content with few", share: 0.01, nodes: 399, want: selector.PlentyLocal},
		{name: "a negative share means the default", share: -1, nodes: 8, want: selector.TooFewEndpoints},
		{name: "a share that is no number means the default", share: nan(), nodes: 7, want: selector.PlentyLocal},
		{name: "a negative number of nodes is not known", nodes: -1, want: selector.NodesUnknown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req := request(eps...)
			req.Nodes = tc.nodes
			require.Equal(t, tc.want, selector.LocalIfPlenty{Share: tc.share}.Select(&req).Reason.Code)
		})
	}
}
