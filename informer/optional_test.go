package informer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
)

var serviceCIDRs = schema.GroupResource{Group: "networking.k8s.io", Resource: "servicecidrs"}

// What an API server answers that has no such resource, or does not give it out.
var (
	errAbsent    = apierrors.NewGenericServerResponse(404, "get", serviceCIDRs, "", "page not found", 0, true)
	errForbidden = apierrors.NewForbidden(serviceCIDRs, "", errors.New("no leave"))
)

// refusing is an API server that refuses ServiceCIDRs.
type refusing struct {
	*fake.Clientset
	mu          sync.Mutex
	list, watch error
	lists       int
}

func newRefusing(list, watching error, objects ...runtime.Object) *refusing {
	r := &refusing{Clientset: fake.NewClientset(objects...), list: list, watch: watching}
	r.PrependReactor("list", "servicecidrs", func(clienttesting.Action) (bool, runtime.Object, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.lists++
		return r.list != nil, nil, r.list
	})
	r.PrependWatchReactor("servicecidrs", func(clienttesting.Action) (bool, watch.Interface, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.watch != nil, nil, r.watch
	})
	return r
}

// now sets what is refused, and returns how often a list was asked for before.
func (r *refusing) now(list, watch error) (lists int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	lists, r.lists = r.lists, 0
	r.list, r.watch = list, watch
	return lists
}

func TestKubernetesFeedsServiceCIDRs(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(newNode("node-a", ""), newServiceCIDR("kubernetes", "10.96.0.0/16"))
	s, log := running(t, &Kubernetes{Client: client})
	soon(t, func() bool { return len(s.ServiceCIDRs()) == 1 }, "the list arrives")
	watchesBegun(t, client, 4)
	s.Take()
	api := client.NetworkingV1().ServiceCIDRs()
	_, err := api.Create(t.Context(), newServiceCIDR("more", "10.90.0.0/20"), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, Changes{Services: []Name{}, ServiceCIDRs: true}, taken(t, s), "Y5")
	require.Equal(t, prefixes("10.90.0.0/20", "10.96.0.0/16"), s.ServiceCIDRs())
	require.NoError(t, api.Delete(t.Context(), "kubernetes", metav1.DeleteOptions{}))
	require.Equal(t, Changes{Services: []Name{}, ServiceCIDRs: true}, taken(t, s), "Y5")
	require.Equal(t, prefixes("10.90.0.0/20"), s.ServiceCIDRs())
	require.Zero(t, log.count("level=WARN"))
}

// A list that is never answered must not hold up anything else.
func TestKubernetesDoesNotWaitForServiceCIDRs(t *testing.T) {
	t.Parallel()
	lists := map[string]string{
		"/api/v1/services": "v1 ServiceList", "/api/v1/nodes": "v1 NodeList",
		"/apis/discovery.k8s.io/v1/endpointslices": "discovery.k8s.io/v1 EndpointSliceList",
	}
	asked := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		version, kind, known := strings.Cut(lists[r.URL.Path], " ")
		switch {
		case r.URL.Query().Has("sendInitialEvents"):
			http.Error(w, "does not stream lists", http.StatusBadRequest)
		case known && !r.URL.Query().Has("watch"):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":"1"},"items":[]}`, version, kind)
		default:
			if !known {
				asked <- struct{}{}
			}
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	k, err := NewKubernetes(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	s, _ := running(t, k)
	<-asked
	require.Equal(t, Changes{Services: []Name{}, Node: true}, taken(t, s))
}

func TestKubernetesWithoutTheResourceSaysSoOnceAndAsksRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newRefusing(errAbsent, errAbsent, newNode("node-a", ""), newServiceCIDR("kubernetes", "10.96.0.0/16"))
		s, log := running(t, &Kubernetes{Client: client})
		require.Equal(t, Changes{Services: []Name{}, Node: true}, taken(t, s), "all else works")
		synctest.Wait()
		time.Sleep(absentPause - time.Second)
		require.Equal(t, 1, client.now(errAbsent, errAbsent))
		time.Sleep(24 * time.Hour)
		lists := client.now(nil, nil)
		require.Greater(t, lists, 24*3-1)
		require.Less(t, lists, 24*6+1)
		require.Equal(t, 1, log.count("level=INFO msg=\"the API server does not have a resource\" resource=servicecidrs"))
		require.Zero(t, log.count("level=WARN"))
		require.Empty(t, s.ServiceCIDRs())

		// The API server is upgraded.
		time.Sleep(2 * absentPause)
		require.Equal(t, prefixes("10.96.0.0/16"), s.ServiceCIDRs())
		require.Equal(t, 1, log.count("lets this resource be read now"))
	})
}

func TestKubernetesWithoutLeaveWarnsOnceAndTriesAgain(t *testing.T) {
	for name, list := range map[string]error{"list and watch are forbidden": errForbidden, "only watch is forbidden": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := newRefusing(list, errForbidden, newNode("node-a", ""), newServiceCIDR("kubernetes", "10.96.0.0/16"))
				s, log := running(t, &Kubernetes{Client: client})
				taken(t, s)
				time.Sleep(time.Minute)
				lists := client.now(list, errForbidden)
				require.Greater(t, lists, 2, "soon at first")
				require.Less(t, lists, 6)
				time.Sleep(2 * time.Hour)
				lists = client.now(nil, nil)
				require.GreaterOrEqual(t, lists, 59, "every one to two minutes later")
				require.LessOrEqual(t, lists, 121)
				require.Equal(t, 1, log.count("level=WARN"), "once")
				require.Equal(t, 1, log.count("forbids to read a resource"))
				require.Zero(t, log.count("read now"))

				time.Sleep(2 * time.Minute) // somebody allowed it
				require.Equal(t, prefixes("10.96.0.0/16"), s.ServiceCIDRs())
				require.Equal(t, 1, log.count("lets this resource be read now"))
			})
		})
	}
}

// A real outage of the resource is reported as that of any other, and what was
// known stays through outages and refusals.
func TestKubernetesKeepsServiceCIDRsThroughTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newRefusing(errors.New("connection refused"), nil, newNode("node-a", ""), newServiceCIDR("kubernetes", "10.96.0.0/16"))
		s, log := running(t, &Kubernetes{Client: client})
		taken(t, s)
		time.Sleep(150 * time.Second)
		require.Equal(t, 1, log.count("msg=\"cannot read from the API server"))
		require.Equal(t, 2, log.count("still cannot read"))
		require.Greater(t, client.now(nil, nil), 150/5-1)
		time.Sleep(5 * time.Second)
		require.Equal(t, 1, log.count("works again"))
		require.Equal(t, prefixes("10.96.0.0/16"), s.ServiceCIDRs())
	})
}

func TestOptionalTellsRefusalsApart(t *testing.T) {
	log := &logged{}
	o := newOptional((&Kubernetes{Client: fake.NewClientset()}).serviceCIDRs(), "nothing is dropped", log.logger())
	plain, stream, watching := metav1.ListOptions{}, metav1.ListOptions{Watch: true, SendInitialEvents: ptr(true)}, metav1.ListOptions{Watch: true}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.False(t, o.saw(t.Context(), stream, errForbidden), "the list that follows may be allowed")
	require.False(t, o.saw(ended, plain, errForbidden))
	require.False(t, o.saw(t.Context(), plain, nil))
	require.Empty(t, log.text.String())

	require.True(t, o.saw(t.Context(), plain, errAbsent))
	require.True(t, o.saw(t.Context(), plain, errAbsent))
	require.GreaterOrEqual(t, o.pause(), absentPause)
	require.Equal(t, 1, log.count("does not have a resource"))
	require.True(t, o.saw(t.Context(), watching, errForbidden))
	require.Less(t, o.pause(), 11*time.Second)
	for range 10 {
		require.Less(t, o.pause(), 2*time.Minute+time.Second)
	}
	require.GreaterOrEqual(t, o.pause(), time.Minute)
	require.Equal(t, 1, log.count("level=WARN"))
	require.False(t, o.saw(t.Context(), plain, nil))
	require.True(t, o.saw(t.Context(), watching, errForbidden))
	require.Equal(t, 1, log.count("level=WARN"), "a list alone proves nothing")
	require.False(t, o.saw(t.Context(), watching, nil))
	require.Equal(t, 1, log.count("read now"))
	require.True(t, o.saw(t.Context(), plain, errForbidden))
	require.Equal(t, 2, log.count("level=WARN"), "again after it was fixed")
	require.Less(t, o.pause(), 11*time.Second, "and soon again")
}
