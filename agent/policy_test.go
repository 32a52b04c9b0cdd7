package agent

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/nearside/nearside/selector"
)

func TestChoosePolicy(t *testing.T) {
	p := newPolicies(builtinSelectors(), "PreferLocal")
	for name, tc := range map[string]struct {
		annotation, want string
		known            bool
	}{
		"no annotation means the default":             {"", "PreferLocal", true},
		"the annotation goes before the default":      {"LocalIfPlenty", "LocalIfPlenty", true},
		"an unknown value is treated as absent":       {"Nearest", "PreferLocal", false},
		"values have one casing":                      {"cluster", "PreferLocal", false},
		"Local belongs to the Service API":            {"Local", "PreferLocal", false},
		"an empty-looking value is unknown as well":   {" ", "PreferLocal", false},
		"the default may be named in the annotation":  {"PreferLocal", "PreferLocal", true},
		"Cluster is a choice like any of the others":  {"Cluster", "Cluster", true},
		"a value with control characters stays apart": {"Cluster\x1b[2J", "PreferLocal", false},
	} {
		t.Run(name, func(t *testing.T) {
			chosen, known := p.choose(tc.annotation)
			require.Equal(t, tc.want, chosen.name)
			require.Equal(t, tc.known, known)
		})
	}
}

// everywhere is a selector that obeys nothing.
type everywhere struct{}

func (everywhere) Select(req *selector.Request) selector.Selection {
	var s selector.Selection
	for _, e := range req.Endpoints {
		s.Backends = append(s.Backends, selector.Backend{Addr: e.Addr, Weight: 1})
	}
	return s
}

func TestEverySelectorIsHeldToTheServiceAPI(t *testing.T) {
	svc := serviceObject("web", "10.96.0.1")
	local := corev1.ServiceInternalTrafficPolicyLocal
	svc.Spec.InternalTrafficPolicy = &local
	a := newTestAgent(t, Options{Selectors: map[string]selector.Selector{"Cluster": everywhere{}}},
		append(threeNodes(), svc, sliceObject("web", "10.0.0.1@node-a", "10.0.0.2@node-b"))...)
	s, ok := a.store.Service(shop("web"))
	require.True(t, ok)
	sel := a.policies.selectService(s, a.currentEnvironment())
	require.Len(t, sel.ports[0].Backends, 1)
	require.Equal(t, "10.0.0.1:8080", sel.ports[0].Backends[0].Addr.String())
}

type counter bool

func (counter) Select(req *selector.Request) selector.Selection {
	return selector.Cluster{}.Select(req)
}
func (c counter) CountsNodes() bool { return bool(c) }

func TestCountsNodes(t *testing.T) {
	for name, tc := range map[string]struct {
		selector selector.Selector
		want     bool
	}{
		"Cluster does not":                         {selector.Cluster{}, false},
		"PreferLocal does not":                     {selector.PreferLocal{}, false},
		"Local does not":                           {selector.Local{}, false},
		"LocalIfPlenty does":                       {selector.LocalIfPlenty{}, true},
		"one's own is taken to do so":              {everywhere{}, true},
		"one's own may say that it does not":       {counter(false), false},
		"one's own may say that it does of course": {counter(true), true},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, countsNodes(tc.selector)) })
	}
}
