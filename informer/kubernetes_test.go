package informer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/metadata"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
)

// running runs a source until the test ends.
func running(t *testing.T, source Source) (*Store, *logged) {
	t.Helper()
	s, log := manifestStore()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- source.Run(ctx, s) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return s, log
}

func taken(t *testing.T, s *Store) Changes {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	require.NoError(t, s.Wait(ctx))
	return s.Take()
}

func TestKubernetesFeedsTheStore(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	client := fake.NewClientset(newService(), newSlice("web-1", ep("10.1.1.5", "node-a")), newNode("node-a", "zone-1"))
	s, log := running(t, &Kubernetes{Client: client})
	require.Equal(t, Changes{Services: []Name{web}, Node: true}, taken(t, s))
	require.Equal(t, []string{"10.1.1.5:8080 node-a ready"}, endpointsOf(t, s, web))
	require.Equal(t, "zone-1", s.Node().Zone)
	require.Zero(t, s.Nodes(), "nobody asked for their number")
	require.Zero(t, log.count("level=WARN"))
	watchesBegun(t, client, 4)

	services, slices := client.CoreV1().Services("demo"), client.DiscoveryV1().EndpointSlices("demo")
	_, err := slices.Update(ctx, newSlice("web-1", ep("10.1.1.6", "node-b")), metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, Changes{Services: []Name{web}}, taken(t, s))
	require.Equal(t, []string{"10.1.1.6:8080 node-b ready"}, endpointsOf(t, s, web))

	_, err = services.Create(ctx, newService(func(s *corev1.Service) { s.Name = "api" }), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, Changes{Services: []Name{{"demo", "api"}}}, taken(t, s))

	require.NoError(t, services.Delete(ctx, "api", metav1.DeleteOptions{}))
	require.Equal(t, Changes{Services: []Name{{"demo", "api"}}}, taken(t, s))
	require.False(t, isServed(s, "api"))

	_, err = client.CoreV1().Nodes().Update(ctx, newNode("node-a", "zone-2"), metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, Changes{Services: []Name{}, Node: true}, taken(t, s))
	require.Equal(t, "zone-2", s.Node().Zone)

	require.NoError(t, client.CoreV1().Nodes().Delete(ctx, "node-a", metav1.DeleteOptions{}))
	require.Equal(t, Changes{Services: []Name{}, Node: true}, taken(t, s))
	require.Empty(t, s.Node().Zone)
	soon(t, func() bool { return log.count("its zone is not known") == 1 }, "a missing Node is a warning")
}

// watchesBegun waits until all watches run: the fake server does not send what
// happened between a list and the watch that follows.
func watchesBegun(t *testing.T, client *fake.Clientset, want int) {
	t.Helper()
	soon(t, func() bool { return count(client.Actions(), "watch") >= want }, "the watches begin")
}

func count(actions []clienttesting.Action, verb string) (n int) {
	for _, a := range actions {
		if a.GetVerb() == verb {
			n++
		}
	}
	return n
}

func TestKubernetesAsksOnlyForWhatIsNeeded(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	s, log := running(t, &Kubernetes{Client: client})
	taken(t, s)
	require.Equal(t, 1, log.count("its zone is not known"), "no Node of that name is a warning, no obstacle")
	watchesBegun(t, client, 4)
	asked := make(map[string]string)
	for _, action := range client.Actions() {
		var r clienttesting.ListRestrictions
		var w clienttesting.WatchRestrictions
		switch a := action.(type) {
		case clienttesting.ListAction:
			r = a.GetListRestrictions()
		case clienttesting.WatchAction:
			w = a.GetWatchRestrictions()
			r = clienttesting.ListRestrictions{Labels: w.Labels, Fields: w.Fields}
		}
		asked[action.GetVerb()+" "+action.GetResource().Resource] = r.Labels.String() + " " + r.Fields.String()
	}
	require.Equal(t, map[string]string{
		"list services":        "!service.kubernetes.io/service-proxy-name spec.clusterIP!=None",
		"watch services":       "!service.kubernetes.io/service-proxy-name spec.clusterIP!=None",
		"list endpointslices":  "!service.kubernetes.io/headless ",
		"watch endpointslices": "!service.kubernetes.io/headless ",
		"list nodes":           " metadata.name=node-a",
		"watch nodes":          " metadata.name=node-a",
		"list servicecidrs":    " ",
		"watch servicecidrs":   " ",
	}, asked, "A1, A2, B3")
}

func TestKubernetesCountsNodesWhenAsked(t *testing.T) {
	t.Parallel()
	scheme := metadatafake.NewTestScheme()
	require.NoError(t, metav1.AddMetaToScheme(scheme))
	node := func(name string) runtime.Object {
		return &metav1.PartialObjectMetadata{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: name},
		}
	}
	meta := metadatafake.NewSimpleMetadataClient(scheme, node("node-a"), node("node-b"))
	s, _ := running(t, &Kubernetes{Client: fake.NewClientset(newNode("node-a", "zone-1")), Metadata: meta})
	taken(t, s)
	require.Zero(t, s.Nodes())
	require.Empty(t, meta.Actions(), "5,000 nodes that each watch 5,000 nodes are a burden")

	s.WantNodes()
	s.WantNodes()
	require.Equal(t, Changes{Services: []Name{}, Nodes: true}, taken(t, s))
	require.Equal(t, 2, s.Nodes())
	require.Equal(t, "zone-1", s.Node().Zone)
	soon(t, func() bool { return count(meta.Actions(), "watch") == 1 }, "the watch begins")
	nodes := meta.Resource(corev1.SchemeGroupVersion.WithResource("nodes"))
	require.NoError(t, nodes.Delete(t.Context(), "node-b", metav1.DeleteOptions{}))
	require.Equal(t, Changes{Services: []Name{}, Nodes: true}, taken(t, s))
	require.Equal(t, 1, s.Nodes())
}

func TestKubernetesWithoutMetadataClientSaysSo(t *testing.T) {
	t.Parallel()
	s, log := running(t, &Kubernetes{Client: fake.NewClientset()})
	s.WantNodes()
	soon(t, func() bool { return log.count("the number of nodes stays unknown") == 1 }, "it is logged")
}

func TestKubernetesNeedsAClientAndANodeName(t *testing.T) {
	s, _ := manifestStore()
	require.ErrorContains(t, (&Kubernetes{}).Run(t.Context(), s), "no client given")
	nameless := NewStore(StoreOptions{})
	require.ErrorContains(t, (&Kubernetes{Client: fake.NewClientset()}).Run(t.Context(), nameless), "name of this node is empty")
}

// Case 063: while the API server is away the last state stays, and what
// vanished meanwhile is gone afterwards.
func TestKubernetesSurvivesAnOutage(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(
		newService(), newService(func(s *corev1.Service) { s.Name, s.Spec.ClusterIP = "old", "10.96.0.11" }),
		newSlice("web-1", ep("10.1.1.5", "node-a")), newNode("node-a", "zone-1"))
	var mu sync.Mutex
	away, watches := false, []*watch.FakeWatcher{}
	client.PrependReactor("list", "services", func(clienttesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		if away {
			return true, nil, errors.New("connection refused")
		}
		return false, nil, nil
	})
	client.PrependWatchReactor("services", func(clienttesting.Action) (bool, watch.Interface, error) {
		mu.Lock()
		defer mu.Unlock()
		w := watch.NewFake()
		watches = append(watches, w)
		return true, w, nil
	})
	s, log := running(t, &Kubernetes{Client: client})
	require.Equal(t, []Name{{"demo", "old"}, web}, taken(t, s).Services)
	soon(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(watches) == 1 }, "the watch begins")

	mu.Lock()
	away = true
	mu.Unlock()
	// The server ends the watch as it does when it forgot where the watch was.
	watches[0].Error(&apierrors.NewResourceExpired("too old").ErrStatus)
	soon(t, func() bool { return log.count("cannot read from the API server") == 1 }, "the outage is logged")
	require.NoError(t, client.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("services"), "demo", "old"))
	time.Sleep(2 * time.Second) // some more attempts
	require.True(t, waits(s))
	require.True(t, isServed(s, "web"))
	require.True(t, isServed(s, "old"))
	require.Equal(t, 1, log.count("cannot read from the API server"), "once, not with every attempt")
	require.Zero(t, log.count("level=ERROR"), "client-go's own messages are for debugging")
	require.Zero(t, log.count("level=DEBUG"), "and this log wants no debugging")

	mu.Lock()
	away = false
	mu.Unlock()
	require.Equal(t, Changes{Services: []Name{{"demo", "old"}}}, taken(t, s), "what is unchanged stays untouched")
	require.False(t, isServed(s, "old"))
	require.True(t, isServed(s, "web"))
	require.Equal(t, 1, log.count("works again"))
}

func TestOutageReminds(t *testing.T) {
	log := &logged{}
	o := outage{log: log.logger(), resource: "services"}
	refused := errors.New("connection refused")
	for range 5 {
		o.saw(t.Context(), metav1.ListOptions{}, refused)
	}
	require.Equal(t, 1, log.count("level=WARN"))
	o.logged = time.Now().Add(-outageReminder)
	o.saw(t.Context(), metav1.ListOptions{}, refused)
	o.saw(t.Context(), metav1.ListOptions{}, refused)
	require.Equal(t, 1, log.count("still cannot read"))
	o.saw(t.Context(), metav1.ListOptions{}, nil)
	o.saw(t.Context(), metav1.ListOptions{}, nil)
	require.Equal(t, 1, log.count("works again"))

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	stream := metav1.ListOptions{SendInitialEvents: ptr(true)}
	o.saw(ended, metav1.ListOptions{}, context.Canceled)
	o.saw(t.Context(), metav1.ListOptions{}, apierrors.NewResourceExpired("too old"))
	o.saw(t.Context(), metav1.ListOptions{}, &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonGone}})
	o.saw(t.Context(), stream, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("x").GroupKind(), "x", nil))
	require.Equal(t, 2, log.count("level=WARN"), "what is part of watching is no outage")
	o.saw(t.Context(), stream, apierrors.NewForbidden(corev1.Resource("services"), "", errors.New("no leave")))
	require.Equal(t, 3, log.count("level=WARN"))
}

// A reflector hands over lists and single objects; both may have been converted
// while they were streamed.
func TestReflectedStore(t *testing.T) {
	s, _ := newStore(t, newService(), newSlice("web-1", ep("10.1.1.5", "node-a")), newNode("node-a", ""))
	k := &Kubernetes{Client: fake.NewClientset()}
	services := &reflected{watched: k.services(), store: s}
	slices := &reflected{watched: k.endpointSlices(), store: s}

	streamed := cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc, cache.WithTransformer(slices.Transformer()))
	require.NoError(t, streamed.Add(newSlice("web-1", ep("10.1.1.5", "node-a"))))
	require.NoError(t, streamed.Add(newSlice("web-2", ep("10.1.1.6", "node-a"))))
	for _, kept := range streamed.List() {
		require.IsType(t, change{}, kept, "no API object is kept while a list is streamed")
	}
	require.NoError(t, slices.Replace(streamed.List(), "1"))
	require.Equal(t, []Name{web}, s.Take().Services)
	require.Equal(t, []string{"10.1.1.5:8080 node-a ready", "10.1.1.6:8080 node-a ready"}, endpointsOf(t, s, web))

	require.NoError(t, slices.Replace([]any{newSlice("web-1", ep("10.1.1.5", "node-a")), newSlice("web-2", ep("10.1.1.6", "node-a"))}, "2"))
	require.True(t, waits(s), "the same list again changes nothing")
	require.NoError(t, slices.Replace([]any{newSlice("web-2", ep("10.1.1.6", "node-a"))}, "3"))
	require.Equal(t, []string{"10.1.1.6:8080 node-a ready"}, endpointsOf(t, s, web), "what is not in a list is gone")
	require.NoError(t, slices.Delete(newSlice("web-2")))
	require.Empty(t, endpointsOf(t, s, web))

	require.NoError(t, services.Add(newService(func(s *corev1.Service) { s.Labels = map[string]string{labelProxyName: "x"} })))
	require.False(t, isServed(s, "web"), "A1, even if a server did not select")
	require.NoError(t, services.Update(newService()))
	require.True(t, isServed(s, "web"))
	require.NoError(t, services.Resync())
	require.NoError(t, services.Replace(nil, "4"))
	require.Empty(t, s.Services())

	require.ErrorContains(t, services.Add(newSlice("web-1")), "got a *v1.EndpointSlice, want a *v1.Service")
	require.Error(t, services.Delete("text"))
	require.Error(t, services.Replace([]any{nil}, "5"))
	_, err := services.Transformer()(newNode("node-a", ""))
	require.Error(t, err)
}

func TestClientsSpeakProtobufAndStreamLists(t *testing.T) {
	t.Parallel()
	type request struct{ accept, streams string }
	seen := make(chan map[string]request, 1)
	seen <- map[string]request{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all := <-seen
		all[r.URL.Path] = request{r.Header.Get("Accept"), r.URL.Query().Get("sendInitialEvents")}
		seen <- all
		http.Error(w, "not today", http.StatusServiceUnavailable)
	}))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL}
	k, err := NewKubernetes(config)
	require.NoError(t, err)
	require.Empty(t, config.ContentType, "the configuration of the caller is not modified")
	s, _ := running(t, k)
	s.WantNodes()
	paths := []string{"/api/v1/services", "/apis/discovery.k8s.io/v1/endpointslices", "/api/v1/nodes", "/apis/networking.k8s.io/v1/servicecidrs"}
	soon(t, func() bool {
		all := <-seen
		defer func() { seen <- all }()
		for _, path := range paths {
			if all[path] == (request{}) {
				return false
			}
		}
		return true
	}, "all resources are asked for")
	all := <-seen
	for _, path := range paths {
		require.Contains(t, all[path].accept, "application/vnd.kubernetes.protobuf", path)
	}
	seen <- all

	_, err = NewKubernetes(&rest.Config{Host: "://"})
	require.ErrorContains(t, err, `make client for the API server "://"`)
	var _ metadata.Interface = k.Metadata
}

// While the API server is away, a reflector sleeps; the end must not wait.
func TestKubernetesEndsAtOnceDuringAnOutage(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close()) // nobody is there now
	k, err := NewKubernetes(&rest.Config{Host: fmt.Sprintf("http://%s", listener.Addr())})
	require.NoError(t, err)
	s, log := manifestStore()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- k.Run(ctx, s) }()
	soon(t, func() bool { return log.count("cannot read from the API server") == 4 }, "each resource is missed")
	time.Sleep(3 * time.Second) // by now the pauses are longer than the limit below
	cancel()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(time.Second):
		t.Fatal("still running a second after its context ended")
	}
	require.True(t, waits(s), "nothing was listed")
	require.Equal(t, 4, log.count("level=WARN"))
	require.Zero(t, log.count("level=ERROR"))
}
