package agent

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/selector"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares text with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -update to make the golden file")
	require.Equal(t, string(want), string(got))
}

func TestParseTarget(t *testing.T) {
	for text, want := range map[string]Target{
		"shop/web":      {Service: shop("web")},
		"shop/web:http": {Service: shop("web"), Port: "http"},
		"shop/web:80":   {Service: shop("web"), Port: "80"},
	} {
		got, err := ParseTarget(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, text, got.String())
	}
	for _, text := range []string{"", "web", "/web", "shop/", "shop/web:", "shop/web:http:2", "a/b/c", "shop/:80"} {
		_, err := ParseTarget(text)
		require.ErrorContains(t, err, "expected NAMESPACE/SERVICE or NAMESPACE/SERVICE:PORT", text)
	}
}

func FuzzParseTarget(f *testing.F) {
	for _, seed := range []string{"shop/web", "shop/web:http", "a/b:c:d", "//", ":"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		target, err := ParseTarget(text)
		if err != nil {
			require.Equal(t, Target{}, target)
			return
		}
		require.Equal(t, text, target.String())
	})
}

// explainable is a service of both families with endpoints in every state.
func explainable() []runtime.Object {
	v4 := sliceObject("web", "10.0.0.1@node-a", "10.0.0.2@node-b", "10.0.0.3@node-c", "10.0.0.4@node-a", "10.0.0.5@")
	v4.Endpoints[2].Conditions.Ready, v4.Endpoints[2].Conditions.Serving = new(false), new(true)
	v4.Endpoints[2].Conditions.Terminating = new(true)
	v4.Endpoints[3].Conditions.Ready = new(false)
	v4.Endpoints[1].Zone = new("zone-1")
	v4.Endpoints[4].NodeName = nil
	local := corev1.ServiceInternalTrafficPolicyLocal
	metrics := serviceObject("metrics", "10.96.0.2")
	metrics.Spec.InternalTrafficPolicy = &local
	outer := serviceObject("outer", "10.96.0.5")
	outer.Spec.Type, outer.Spec.ExternalTrafficPolicy = corev1.ServiceTypeLoadBalancer, corev1.ServiceExternalTrafficPolicyLocal
	outer.Spec.Ports[0].NodePort, outer.Spec.ExternalIPs = 30080, []string{"198.51.100.20"}
	outer.Spec.LoadBalancerSourceRanges = []string{"203.0.113.0/24"}
	outer.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.51.100.10"}}
	wide := serviceObject("open", "10.96.0.6")
	wide.Spec.Type, wide.Spec.Ports[0].NodePort = corev1.ServiceTypeNodePort, 30081
	return append(threeNodes(),
		outer, sliceObject("outer", "10.0.0.8@node-b"), wide, sliceObject("open", "10.0.0.9@node-a"),
		withPolicy(serviceObject("web", "10.96.0.1", "fd00:96::1"), "PreferLocal"), v4, sliceObject("web", "fd00::2@node-b"),
		metrics, sliceObject("metrics", "10.0.0.7@node-b"),
		withPolicy(serviceObject("odd", "10.96.0.3"), "Nearest\x1b[2J"), serviceObject("quiet", "10.96.0.4"))
}

func explained(t *testing.T, a *Agent, target string) *Explanation {
	t.Helper()
	parsed, err := ParseTarget(target)
	require.NoError(t, err)
	x, err := a.Explain(t.Context(), parsed)
	require.NoError(t, err)
	return x
}

func TestExplainText(t *testing.T) {
	a := newTestAgent(t, Options{}, explainable()...)
	var text bytes.Buffer
	for _, target := range []string{"shop/web", "shop/metrics:80", "shop/odd", "shop/quiet:http", "shop/outer", "shop/open"} {
		require.NoError(t, explained(t, a, target).WriteText(&text))
		text.WriteString("---\n")
	}
	require.NotContains(t, text.String(), "\x1b")
	golden(t, "explain.txt", text.Bytes())
}

func TestExplainJSON(t *testing.T) {
	a := newTestAgent(t, Options{}, explainable()...)
	got, err := json.MarshalIndent(explained(t, a, "shop/web:http"), "", "  ")
	require.NoError(t, err)
	golden(t, "explain.json", append(got, '\n'))
	got, err = json.MarshalIndent(explained(t, a, "shop/outer"), "", "  ")
	require.NoError(t, err)
	golden(t, "explain-external.json", append(got, '\n'))
}

func TestExplainSaysWhatIsMissing(t *testing.T) {
	a := newTestAgent(t, Options{}, explainable()...)
	_, err := a.Explain(t.Context(), Target{Service: shop("wbe")})
	require.ErrorContains(t, err, `find service "shop/wbe": there is none with a ClusterIP among the 6 known`)
	_, err = a.Explain(t.Context(), Target{Service: shop("web"), Port: "https"})
	require.ErrorContains(t, err, `find port "https" of service "shop/web": expected one of "http" (80)`)
}

func TestExplainAgreesWithWhatIsPlanned(t *testing.T) {
	a := newTestAgent(t, Options{}, explainable()...)
	env := a.currentEnvironment()
	for _, name := range a.store.Services() {
		s, ok := a.store.Service(name)
		require.True(t, ok)
		sel := a.policies.selectService(s, env)
		x := explained(t, a, name.String())
		for i, p := range x.Ports {
			require.Equal(t, string(sel.ports[i].Reason.Code), p.Code)
			chosen := 0
			for _, e := range p.Endpoints {
				if e.Chosen {
					require.Equal(t, sel.ports[i].Backends[chosen].Addr, e.Addr)
					require.Equal(t, sel.ports[i].Backends[chosen].Weight, e.Weight)
					chosen++
				}
			}
			require.Len(t, sel.ports[i].Backends, chosen)
			require.Equal(t, sel.external[i] == nil, p.External == nil)
			if p.External == nil {
				continue
			}
			for _, answer := range p.External.Answers {
				want := &sel.external[i].inside
				if answer.Clients == OutsideClients {
					want = sel.external[i].outside
				}
				require.Equal(t, string(want.Reason.Code), answer.Code)
				chosen := slices.DeleteFunc(slices.Clone(answer.Endpoints), func(e selector.Explanation) bool { return !e.Chosen })
				require.Len(t, chosen, len(want.Backends))
			}
		}
	}
	require.Contains(t, a.store.Services(), informer.Name{Namespace: "shop", Name: "web"})
}
