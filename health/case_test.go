package health

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/selector"
)

const gonePath = "testdata/local-endpoint-gone.yaml"

// TestHealthCheckFollowsTheLastLocalEndpoint is a trouble that users met with
// other proxies (kubernetes/kubernetes#44311): the count was not refreshed when
// it fell to zero, and load balancers went on sending. The objects take the
// whole way, from manifests through the informer to an answer over HTTP.
func TestHealthCheckFollowsTheLastLocalEndpoint(t *testing.T) {
	s := newScene(t)
	s.ns.Run(t, "ip", "address", "add", "192.0.2.11/24", "dev", "lo")
	store := informer.NewStore(informer.StoreOptions{
		NodeName:  "node-a",
		OnProblem: func(p informer.Problem) { t.Errorf("%+v", p) },
	})
	require.NoError(t, (&informer.Manifests{Paths: []string{gonePath}}).Load(t.Context(), store))
	objects := decode(t, gonePath)
	service, slice := objects["web"].(*corev1.Service), objects["web-1"].(*discoveryv1.EndpointSlice)

	set := func(endpoints ...discoveryv1.Endpoint) {
		changed := slice.DeepCopy()
		changed.Endpoints = endpoints
		require.NoError(t, store.Set(changed))
	}
	here := slice.Endpoints[0]
	elsewhere := endpoint(here, "10.1.2.5", "node-b")
	leaving := endpoint(here, "10.1.1.6", "node-a")
	leaving.Conditions = discoveryv1.EndpointConditions{Ready: new(false), Serving: new(true), Terminating: new(true)}

	for i, step := range []struct {
		name   string
		change func()
		status int
		count  int
	}{
		{name: "one ready endpoint here", change: func() {}, status: 200, count: 1},
		{name: "replaced by one on another node", change: func() { set(elsewhere) }, status: 503},
		{name: "here one that serves while it terminates", change: func() { set(leaving, elsewhere) }, status: 503},
		{name: "no slice any more", change: func() { require.NoError(t, store.Delete(slice)) }, status: 503},
		{name: "one ready endpoint here again", change: func() { set(endpoint(here, "10.1.1.7", "node-a")) }, status: 200, count: 1},
	} {
		step.change()
		require.Equal(t, []informer.Name{{Namespace: "demo", Name: "web"}}, store.Take().Services, "step %d: %s", i+1, step.name)
		known, ok := store.Service(informer.Name{Namespace: "demo", Name: "web"})
		require.True(t, ok)
		var ports [][]selector.Endpoint
		for _, p := range known.Ports {
			ports = append(ports, p.Endpoints)
		}
		s.Set(Name(known.Name), Spec{
			Port: uint16(service.Spec.HealthCheckNodePort),
			IPv4: Family{Served: true, LocalEndpoints: CountLocal("node-a", ports...)},
		})
		s.listens(web, "0.0.0.0:32080")
		got := s.ask("GET", "http://192.0.2.11:32080/")
		require.Equal(t, step.status, got.status, "step %d: %s", i+1, step.name)
		require.Contains(t, got.body, fmt.Sprintf(`"localEndpoints":%d,`, step.count), "step %d: %s", i+1, step.name)
		require.Equal(t, fmt.Sprint(step.count), got.header.Get(WeightHeader))
	}
}

// endpoint returns a like endpoint at another address and node.
func endpoint(like discoveryv1.Endpoint, addr, node string) discoveryv1.Endpoint {
	e := *like.DeepCopy()
	e.Addresses, e.NodeName = []string{addr}, &node
	return e
}

// decode reads the objects of a manifest, by name.
func decode(t *testing.T, path string) map[string]runtime.Object {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	objects := make(map[string]runtime.Object)
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		o, _, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(document), nil, nil)
		require.NoError(t, err)
		objects[o.(metav1.Object).GetName()] = o
	}
	return objects
}
