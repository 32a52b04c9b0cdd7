package examples_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/agent"
	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/selector"
)

// TestManifestsDoWhatTheirCommentsSay explains every service of the manifests on
// every node and compares with what the comments in the files promise.
func TestManifestsDoWhatTheirCommentsSay(t *testing.T) {
	want := map[string][3]string{ // by service port: node-a, node-b, node-c
		"infra/dns:dns IPv4 UDP": {
			"10.1.1.53 node LocalReady",
			"10.1.1.53 10.1.3.53 cluster fallback NoLocalReady",
			"10.1.3.53 node LocalReady",
		},
		"infra/dns:dns-tcp IPv4 TCP": {
			"10.1.1.53 node LocalReady",
			"10.1.1.53 10.1.3.53 cluster fallback NoLocalReady",
			"10.1.3.53 node LocalReady",
		},
		"infra/logger:syslog IPv4 UDP": {
			"10.1.1.14 node LocalReady",
			"10.1.2.14 node fallback LocalTerminating",
			"drop node NoLocalEndpoint",
		},
		"shop/billing:http IPv4 TCP": same("10.1.2.32 cluster fallback TerminatingOnly"),
		"shop/cart:http IPv4 TCP": {
			"10.1.1.20 10.1.2.20 zone ZoneHint",
			"10.1.1.20 10.1.2.20 zone ZoneHint",
			"10.1.3.20 zone ZoneHint",
		},
		"shop/report:http IPv4 TCP": same("reject cluster NoEndpoint"),
		"shop/search:http IPv4 TCP": {
			"10.1.1.22 node PlentyLocal",
			"10.1.2.22 node PlentyLocal",
			"10.1.3.22 node PlentyLocal",
		},
		"shop/session:redis IPv4 TCP": {
			"10.1.1.21 node NodeHint",
			"10.1.1.21 zone fallback ZoneHint",
			"10.1.3.21 node NodeHint",
		},
		"shop/suggest:http IPv4 TCP": {
			"10.1.1.23 cluster fallback TooFewEndpoints",
			"10.1.1.23 cluster fallback NoLocalReady",
			"10.1.1.23 cluster fallback NoLocalReady",
		},
		"shop/upload:http IPv4 TCP":         same("10.1.3.31 cluster AllReady"),
		"shop/web:http IPv4 TCP":            same("10.1.1.10 10.1.2.10 10.1.3.10 cluster AllReady"),
		"shop/web:http IPv6 TCP":            same("fd00:10:1:1::10 fd00:10:1:2::10 fd00:10:1:3::10 cluster AllReady"),
		"telecom/signalling:s1ap IPv4 SCTP": same("10.1.2.29 10.1.3.29 cluster AllReady"),
	}
	got := map[string][3]string{}
	for i, node := range []string{"node-a", "node-b", "node-c"} {
		for port, answer := range explainAll(t, node) {
			answers := got[port]
			answers[i] = answer
			got[port] = answers
		}
	}
	require.Equal(t, want, got)
}

func same(answer string) [3]string { return [3]string{answer, answer, answer} }

// explainAll returns the answer for every service port on a node in short. The
// manifests must give no reason for any notice.
func explainAll(t *testing.T, node string) map[string]string {
	t.Helper()
	store := informer.NewStore(informer.StoreOptions{
		NodeName:  node,
		OnProblem: func(p informer.Problem) { t.Errorf("the manifests have a problem: %+v", p) },
	})
	source := &informer.Manifests{Paths: []string{"manifests"}}
	require.NoError(t, source.Load(t.Context(), store))

	a, err := agent.New(agent.Options{
		NodeName: node,
		Source:   source,
		OnNotice: func(n agent.Notice) { t.Errorf("the manifests give reason for a notice: %+v", n) },
	})
	require.NoError(t, err)
	_, err = a.Render(t.Context())
	require.NoError(t, err)
	answers := map[string]string{}
	for _, name := range store.Services() {
		x, err := a.Explain(t.Context(), agent.Target{Service: name})
		require.NoError(t, err)
		for _, p := range x.Ports {
			answers[fmt.Sprintf("%s:%s %s %s", name, p.Port, p.Family, p.Protocol)] = short(p)
		}
	}
	return answers
}

// short is an explanation in a line: the chosen endpoints or what clients meet,
// the scope, whether it is a fallback, and the code.
func short(p agent.PortExplanation) string {
	var words []string
	for _, e := range p.Endpoints {
		if e.Chosen {
			words = append(words, e.Addr.Addr().String())
		}
	}
	if len(words) == 0 {
		words = append(words, p.Empty)
	}
	words = append(words, p.Scope)
	if p.Fallback {
		words = append(words, "fallback")
	}
	return strings.Join(append(words, string(selector.Code(p.Code))), " ")
}
