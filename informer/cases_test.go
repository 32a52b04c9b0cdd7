package informer

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nearside/nearside/selector"
)

// caseTest is a trouble that users had with some proxy: objects, what happens
// to them, and where connections may go after each step. It runs on node-a.
type caseTest struct {
	t     *testing.T
	store *Store
	told  []Problem
	// objects are those of the case, by name.
	objects map[string]object
}

func newCase(t *testing.T, name string) *caseTest {
	t.Helper()
	c := &caseTest{t: t, objects: make(map[string]object)}
	c.store = NewStore(StoreOptions{NodeName: "node-a", OnProblem: func(p Problem) { c.told = append(c.told, p) }})
	path := filepath.Join("testdata", "cases", name)
	require.NoError(t, (&Manifests{Paths: []string{path}}).Load(t.Context(), c.store))
	c.store.Take()

	data, err := os.ReadFile(path)
	require.NoError(t, err)
	found, err := decodeManifests(data, func(metav1.TypeMeta) {})
	require.NoError(t, err)
	for _, m := range found {
		o := m.object.(object)
		c.objects[o.GetName()] = o
	}
	return c
}

func (c *caseTest) service(name string) *corev1.Service { return c.objects[name].(*corev1.Service) }

func (c *caseTest) slice(name string) *discoveryv1.EndpointSlice {
	return c.objects[name].(*discoveryv1.EndpointSlice)
}

// set writes an object after a change of it, and returns which Services that
// made dirty.
func (c *caseTest) set(o object) []Name {
	c.t.Helper()
	require.NoError(c.t, c.store.Set(o))
	return c.store.Take().Services
}

// served reports whether a Service is served at all.
func (c *caseTest) served(name string) bool {
	_, ok := c.store.Service(Name{"demo", name})
	return ok
}

// goes returns where connections to the ports of a Service go, by what is
// dialled, as the selector that every Service has by default decides.
func (c *caseTest) goes(name string) map[string][]string {
	c.t.Helper()
	service, ok := c.store.Service(Name{"demo", name})
	require.True(c.t, ok, "%s is not served", name)
	out := make(map[string][]string)
	for _, p := range service.Ports {
		node := selector.Node{Name: c.store.Node().Name, Zone: c.store.Node().Zone}
		selection := selector.Cluster{}.Select(&selector.Request{Port: p.Port, Node: node, Endpoints: p.Endpoints})
		var to []string
		for _, b := range selection.Backends {
			to = append(to, b.Addr.String())
		}
		out[p.Port.Protocol+" "+p.ClusterIP.String()] = to
	}
	return out
}

func to(dialled string, backends ...string) map[string][]string {
	return map[string][]string{dialled: backends}
}

func conditions(ready, serving, terminating bool) discoveryv1.EndpointConditions {
	return discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving, Terminating: &terminating}
}

const dialled = "TCP 10.96.0.10:80"

func TestCase009ZoneWithoutEndpointFallsBack(t *testing.T) {
	c := newCase(t, "009-preferclose-fallback.yaml")
	remote := to(dialled, "10.1.2.5:8080", "10.1.3.5:8080")
	require.Equal(t, remote, c.goes("web"))
	slice := c.slice("web-1")
	all := slice.Endpoints
	near := ep("10.1.1.5", "node-a", func(e *discoveryv1.Endpoint) {
		e.Zone, e.Hints = ptr("zone-1"), &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "zone-1"}}}
	})
	slice.Endpoints = append(slices.Clone(all), near)
	require.Equal(t, []Name{web}, c.set(slice))
	require.Equal(t, to(dialled, "10.1.1.5:8080"), c.goes("web"))
	slice.Endpoints = all
	c.set(slice)
	require.Equal(t, remote, c.goes("web"))
}

func TestCase013ZoneLabelArrivesLater(t *testing.T) {
	c := newCase(t, "013-zone-label-after-start.yaml")
	node := c.objects["node-a"]
	both := to(dialled, "10.1.1.5:8080", "10.1.2.5:8080")
	require.Equal(t, both, c.goes("web"))
	for _, step := range []struct {
		zone string
		want map[string][]string
	}{
		{"zone-1", to(dialled, "10.1.1.5:8080")},
		{"zone-2", to(dialled, "10.1.2.5:8080")},
		{"", both},
	} {
		node.SetLabels(map[string]string{})
		if step.zone != "" {
			node.SetLabels(map[string]string{corev1.LabelTopologyZone: step.zone})
		}
		require.NoError(t, c.store.Set(node))
		require.Equal(t, Changes{Services: []Name{}, Node: true}, c.store.Take(), "no object but the Node is touched")
		require.Equal(t, step.want, c.goes("web"))
	}
}

func TestCase014TerminatingWithoutServingIsNeverUsed(t *testing.T) {
	c := newCase(t, "014-terminating-not-serving.yaml")
	slice := c.slice("web-1")
	at := slices.IndexFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool { return e.Addresses[0] == "10.1.2.5" })
	for _, now := range []discoveryv1.EndpointConditions{conditions(false, false, false), conditions(false, false, true)} {
		slice.Endpoints[at].Conditions = now
		require.Equal(t, []Name{web}, c.set(slice))
		require.Equal(t, to(dialled, "10.1.1.5:8080"), c.goes("web"))
	}
}

func TestCase016TwoRecordsOfOneAddress(t *testing.T) {
	variants := map[string]func(c *caseTest){
		"one slice, terminating first": func(*caseTest) {},
		"one slice, ready first": func(c *caseTest) {
			slices.Reverse(c.slice("web-1").Endpoints)
			c.set(c.slice("web-1"))
		},
		"two slices, terminating written last": func(c *caseTest) {
			first, second := split(c.slice("web-1"))
			c.set(second)
			c.set(first)
		},
		"two slices, ready written last": func(c *caseTest) {
			first, second := split(c.slice("web-1"))
			c.set(first)
			c.set(second)
		},
	}
	for name, variant := range variants {
		t.Run(name, func(t *testing.T) {
			c := newCase(t, "016-duplicate-ip-ready-and-terminating.yaml")
			variant(c)
			require.Equal(t, to(dialled, "10.1.2.20:8080"), c.goes("web"))
			service, _ := c.store.Service(web)
			require.Equal(t, []string{"10.1.2.20:8080 node-c zone-3 ready"}, text(service.Ports[0].Endpoints),
				"the live pod's node decides locality")
		})
	}
}

// split makes two slices of one with two endpoints.
func split(slice *discoveryv1.EndpointSlice) (first, second *discoveryv1.EndpointSlice) {
	first, second = slice.DeepCopy(), slice.DeepCopy()
	second.Name += "b"
	first.Endpoints, second.Endpoints = first.Endpoints[:1], second.Endpoints[1:]
	return first, second
}

func TestCase037SameAddressAndPortOtherProtocol(t *testing.T) {
	c := newCase(t, "037-same-port-tcp-udp.yaml")
	require.Equal(t, to("TCP 10.96.0.41:53", "10.1.1.5:5353"), c.goes("dns-t"))
	require.Equal(t, to("UDP 10.96.0.42:53", "10.1.1.6:5353"), c.goes("dns-u"))
	require.Equal(t, map[string][]string{
		"TCP 10.96.0.43:53": {"10.1.1.7:5301"}, "UDP 10.96.0.43:53": {"10.1.1.7:5302"},
	}, c.goes("both"))
	for _, name := range []string{"dns-t", "dns-u"} {
		service, _ := c.store.Service(Name{"demo", name})
		require.Equal(t, addrs("198.51.100.40"), service.Ports[0].LoadBalancerIPs)
	}
	require.NoError(t, c.store.Delete(c.service("dns-u")))
	require.Equal(t, []Name{{"demo", "dns-u"}}, c.store.Take().Services)
	require.Equal(t, to("TCP 10.96.0.41:53", "10.1.1.5:5353"), c.goes("dns-t"))
	require.False(t, c.served("dns-u"))
}

func TestCase040ThePodPortComesFromTheSlice(t *testing.T) {
	c := newCase(t, "040-port-from-slice.yaml")
	require.Equal(t, to(dialled, "10.1.1.5:9376"), c.goes("manual"))
	slice := c.slice("manual-1")
	slice.Ports[0].Port = ptr[int32](9377)
	c.set(slice)
	require.Equal(t, to(dialled, "10.1.1.5:9377"), c.goes("manual"))
}

func TestCase043HeadlessIsNotServed(t *testing.T) {
	c := newCase(t, "043-headless-external-ip.yaml")
	require.False(t, c.served("hl"))
	require.Equal(t, to(dialled, "10.1.1.6:8080"), c.goes("web"))
	require.Equal(t, []Name{web}, c.store.Services())
	require.Empty(t, c.told, "harmless, so nothing to complain about")
	require.Len(t, c.store.slices, 1, "its slice is not kept either")
}

func TestCase044ProxyNameLabelComesAndGoes(t *testing.T) {
	c := newCase(t, "044-proxy-name-label-toggle.yaml")
	service, slice := c.service("web"), c.slice("web-1")
	served := to(dialled, "10.1.1.5:8080")
	require.Equal(t, served, c.goes("web"))

	service.Labels = map[string]string{labelProxyName: "other"}
	require.Equal(t, []Name{web}, c.set(service), "step 2")
	require.False(t, c.served("web"))

	service.Labels = nil
	require.Equal(t, []Name{web}, c.set(service), "step 3")
	require.Equal(t, served, c.goes("web"))

	service.Labels = map[string]string{labelProxyName: "other"}
	slice.Labels[labelProxyName] = "other"
	c.set(slice)
	c.set(service)
	require.False(t, c.served("web"), "step 4")

	delete(slice.Labels, labelProxyName)
	c.set(slice)
	require.False(t, c.served("web"))
	service.Labels = nil
	c.set(service)
	require.Equal(t, served, c.goes("web"), "step 5")
}

func TestCase056BadValuesAreSkippedOneByOne(t *testing.T) {
	c := newCase(t, "056-invalid-ip-values.yaml")
	require.Equal(t, to(dialled, "10.1.1.5:8080"), c.goes("web"))
	require.Equal(t, to("TCP 10.96.0.11:80", "10.1.1.6:8080"), c.goes("fine"))
	service, _ := c.store.Service(web)
	require.Equal(t, addrs("198.51.100.10"), service.Ports[0].LoadBalancerIPs)

	named := func() (out []string) {
		for _, p := range c.told {
			out = append(out, p.Kind+" "+p.Object+" "+p.Value)
		}
		return out
	}
	want := []string{`EndpointSlice demo/web-1 "fd00:10:1:1::5"`, `EndpointSlice demo/web-1 "not-an-ip"`, `Service demo/web " "`}
	require.ElementsMatch(t, want, named(), "each bad value is named with its object")
	for i := range 20 {
		slice := c.slice("fine-1")
		slice.Endpoints[0].Addresses[0] = fmt.Sprintf("10.1.1.%d", 100+i)
		c.set(slice)
	}
	require.Len(t, c.told, 3, "not repeated with unrelated changes")
	require.Len(t, c.store.Problems(), 3)
}

func TestCase058AbsentOptionalFields(t *testing.T) {
	c := newCase(t, "058-absent-optional-fields.yaml")
	require.Equal(t, to("TCP 10.96.0.10:443", "10.1.1.5:6443"), c.goes("old"))
	service, _ := c.store.Service(Name{"demo", "old"})
	require.Equal(t, 10800*time.Second, service.Ports[0].Port.Affinity)
	require.Empty(t, c.told)
}
