package informer

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nearside/nearside/selector"
)

var web = Name{"demo", "web"}

func newNode(name, zone string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if zone != "" {
		n.Labels = map[string]string{corev1.LabelTopologyZone: zone}
	}
	return n
}

// newStore returns a Store of node-a that holds objects, all taken, and the
// problems it is told.
func newStore(t *testing.T, objects ...object) (*Store, *[]Problem) {
	t.Helper()
	var told []Problem
	s := NewStore(StoreOptions{NodeName: "node-a", OnProblem: func(p Problem) { told = append(told, p) }})
	replace(t, s, objects...)
	s.Take()
	return s, &told
}

func replace(t *testing.T, s *Store, objects ...object) {
	t.Helper()
	s.update(mustConvert(t, s, objects), everything)
}

func mustConvert(t testing.TB, s *Store, objects []object) []change {
	t.Helper()
	var all []change
	for _, o := range objects {
		changes, err := convert(o, s.opts.NodeName)
		require.NoError(t, err)
		all = append(all, changes...)
	}
	return all
}

// waits reports whether Wait would block.
func waits(s *Store) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.ready:
		return false
	default:
		return true
	}
}

func endpointsOf(t *testing.T, s *Store, n Name) []string {
	t.Helper()
	service, ok := s.Service(n)
	require.True(t, ok)
	return text(service.Ports[0].Endpoints)
}

func TestNothingIsGivenOutBeforeTheFirstLists(t *testing.T) {
	lists := map[kind]func(*Store){
		kindService: func(s *Store) { s.update(mustConvert(t, s, []object{newService()}), []kind{kindService}) },
		kindSlice: func(s *Store) {
			s.update(mustConvert(t, s, []object{newSlice("web-1", ep("10.1.1.5", "node-a"))}), []kind{kindSlice})
		},
		kindNode: func(s *Store) { s.update(nil, []kind{kindNode}) },
	}
	for last := range lists {
		t.Run(fmt.Sprintf("Y1: the last list to come is that of kind %d", last), func(t *testing.T) {
			s := NewStore(StoreOptions{NodeName: "node-a", OnProblem: func(Problem) {}})
			for k, list := range lists {
				if k == last {
					continue
				}
				list(s)
				require.True(t, waits(s))
				require.Equal(t, Changes{}, s.Take())
			}
			lists[last](s)
			require.False(t, waits(s))
			require.NoError(t, s.Wait(t.Context()))
			require.Equal(t, Changes{Services: []Name{web}, Node: true}, s.Take())
			require.True(t, waits(s))
		})
	}
}

func TestAnEmptyClusterIsAChangeOnce(t *testing.T) {
	s := NewStore(StoreOptions{})
	require.NoError(t, s.Replace())
	require.NoError(t, s.Wait(t.Context()), "Y1: what an earlier process left may have to go")
	require.Equal(t, Changes{Services: []Name{}, Node: true}, s.Take())
	require.True(t, waits(s))
}

func TestWait(t *testing.T) {
	s, _ := newStore(t, newService())
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Wait(short), context.DeadlineExceeded)

	var waiting sync.WaitGroup
	for range 3 {
		waiting.Go(func() { require.NoError(t, s.Wait(t.Context())) })
	}
	require.NoError(t, s.Set(newSlice("web-1", ep("10.1.1.5", "node-a"))))
	waiting.Wait()
	require.NoError(t, s.Wait(t.Context()), "it does not block until the change is taken")
	require.Equal(t, []Name{web}, s.Take().Services)
	require.True(t, waits(s))
}

func TestSetRefusesOtherTypes(t *testing.T) {
	s, _ := newStore(t)
	err := s.Set(newService(), &corev1.Pod{})
	require.EqualError(t, err, "convert *v1.Pod: want *v1.Service, *v1.EndpointSlice, *v1.Node or *v1.ServiceCIDR")
	require.Empty(t, s.Services(), "nothing is half applied")
	require.Error(t, s.Delete(&corev1.Pod{}))
	require.Error(t, s.Replace(&corev1.Pod{}))
}

// What a change makes dirty, and what it does not.
func TestWhatCountsAsAChange(t *testing.T) {
	other := newService(func(s *corev1.Service) { s.Name, s.Spec.ClusterIP = "other", "10.96.0.11" })
	otherName := Name{"demo", "other"}
	tests := []struct {
		name string
		do   func(t *testing.T, s *Store)
		want Changes
	}{
		{
			name: "the same Service again",
			do:   func(t *testing.T, s *Store) { require.NoError(t, s.Set(newService())) },
		},
		{
			name: "Y4: the same list again",
			do: func(t *testing.T, s *Store) {
				replace(t, s, newService(), other, newSlice("web-1", ep("10.1.1.5", "node-a")), newNode("node-a", "zone-1"))
			},
		},
		{
			name: "a Service of which only what nobody reads changed",
			do: func(t *testing.T, s *Store) {
				require.NoError(t, s.Set(newService(func(s *corev1.Service) {
					s.ResourceVersion, s.Annotations = "7", map[string]string{"a": "b"}
					s.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
					s.Spec.Selector = map[string]string{"app": "x"}
				})))
			},
		},
		{
			name: "a slice of which only what nobody reads changed, in another order",
			do: func(t *testing.T, s *Store) {
				require.NoError(t, s.Set(newSlice("web-1", ep("10.1.1.5", "node-a", state(true, true, false), func(e *discoveryv1.Endpoint) {
					e.TargetRef, e.Hostname = &corev1.ObjectReference{Name: "pod"}, ptr("h")
				}))))
			},
		},
		{
			name: "an endpoint changed",
			do:   func(t *testing.T, s *Store) { require.NoError(t, s.Set(newSlice("web-1", ep("10.1.1.6", "node-a")))) },
			want: Changes{Services: []Name{web}},
		},
		{
			name: "the policy annotation changed",
			do: func(t *testing.T, s *Store) {
				require.NoError(t, s.Set(newService(func(s *corev1.Service) {
					s.Annotations = map[string]string{annotationPolicy: "PreferLocal"}
				})))
			},
			want: Changes{Services: []Name{web}},
		},
		{
			name: "the object was made anew",
			do: func(t *testing.T, s *Store) {
				require.NoError(t, s.Set(newService(func(s *corev1.Service) { s.CreationTimestamp = metav1.Unix(7, 0) })))
			},
			want: Changes{Services: []Name{web}},
		},
		{
			name: "a slice went",
			do:   func(t *testing.T, s *Store) { require.NoError(t, s.Delete(newSlice("web-1"))) },
			want: Changes{Services: []Name{web}},
		},
		{
			name: "a Service went",
			do:   func(t *testing.T, s *Store) { require.NoError(t, s.Delete(newService())) },
			want: Changes{Services: []Name{web}},
		},
		{
			name: "a slice of an unknown Service came and went",
			do: func(t *testing.T, s *Store) {
				slice := newSlice("stray-1", ep("10.1.1.5", "node-a"))
				slice.Labels[discoveryv1.LabelServiceName] = "stray"
				require.NoError(t, s.Set(slice))
				require.NoError(t, s.Delete(slice))
			},
		},
		{
			name: "B4: a slice moved to another Service",
			do: func(t *testing.T, s *Store) {
				slice := newSlice("web-1", ep("10.1.1.5", "node-a"))
				slice.Labels[discoveryv1.LabelServiceName] = "other"
				slice.Ports[0].Name = ptr("http")
				require.NoError(t, s.Set(slice))
			},
			want: Changes{Services: []Name{otherName, web}},
		},
		{
			name: "T6: the zone of this node changed",
			do:   func(t *testing.T, s *Store) { require.NoError(t, s.Set(newNode("node-a", "zone-2"))) },
			want: Changes{Node: true},
		},
		{
			name: "T6: this node was deleted",
			do:   func(t *testing.T, s *Store) { require.NoError(t, s.Delete(newNode("node-a", ""))) },
			want: Changes{Node: true, Nodes: true},
		},
		{
			name: "T6: another label of this node changed",
			do: func(t *testing.T, s *Store) {
				node := newNode("node-a", "zone-1")
				node.Labels["x"] = "y"
				require.NoError(t, s.Set(node))
			},
		},
		{
			name: "T6: the zone changed and changed back",
			do: func(t *testing.T, s *Store) {
				require.NoError(t, s.Set(newNode("node-a", "zone-2")))
				require.NoError(t, s.Set(newNode("node-a", "zone-1")))
			},
		},
		{
			name: "another node came",
			do:   func(t *testing.T, s *Store) { require.NoError(t, s.Set(newNode("node-b", "zone-2"))) },
			want: Changes{Nodes: true},
		},
		{
			name: "a node was replaced by another",
			do: func(t *testing.T, s *Store) {
				require.NoError(t, s.Set(newNode("node-b", "zone-2")))
				s.Take()
				require.NoError(t, s.Delete(newNode("node-b", "")))
				require.NoError(t, s.Set(newNode("node-c", "zone-2")))
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := newStore(t, newService(), other, newSlice("web-1", ep("10.1.1.5", "node-a")), newNode("node-a", "zone-1"))
			tt.do(t, s)
			if tt.want.Services == nil {
				tt.want.Services = []Name{}
			}
			none := len(tt.want.Services) == 0 && !tt.want.Node && !tt.want.Nodes
			require.Equal(t, none, waits(s))
			require.Equal(t, tt.want, s.Take())
			require.True(t, waits(s))
		})
	}
}

func TestASliceThatMovesLeavesItsOldService(t *testing.T) {
	other := newService(func(s *corev1.Service) { s.Name, s.Spec.ClusterIP = "other", "10.96.0.11" })
	slice := newSlice("web-1", ep("10.1.1.5", "node-a"))
	s, _ := newStore(t, newService(), other, slice)
	slice.Labels[discoveryv1.LabelServiceName] = "other"
	require.NoError(t, s.Set(slice))
	require.Empty(t, endpointsOf(t, s, web), "B4: the old Service does not keep the slice")
	require.Equal(t, []string{"10.1.1.5:8080 node-a ready"}, endpointsOf(t, s, Name{"demo", "other"}))

	delete(slice.Labels, discoveryv1.LabelServiceName)
	require.NoError(t, s.Set(slice))
	require.Empty(t, endpointsOf(t, s, Name{"demo", "other"}), "B1: a slice without a Service feeds none")
}

func TestAnEndpointThatMovesBetweenSlicesStays(t *testing.T) {
	s, _ := newStore(t, newService(), newSlice("web-1", ep("10.1.1.5", "node-a"), ep("10.1.1.6", "node-a")))
	require.NoError(t, s.Set(newSlice("web-2", ep("10.1.1.6", "node-a"))))
	both := []string{"10.1.1.5:8080 node-a ready", "10.1.1.6:8080 node-a ready"}
	require.Equal(t, both, endpointsOf(t, s, web), "E6")
	require.NoError(t, s.Set(newSlice("web-1", ep("10.1.1.5", "node-a"))))
	require.Equal(t, both, endpointsOf(t, s, web), "E6")
}

func TestSlicesMayComeBeforeTheirService(t *testing.T) {
	s, _ := newStore(t, newSlice("web-1", ep("10.1.1.5", "node-a")))
	_, ok := s.Service(web)
	require.False(t, ok)
	require.Empty(t, s.Services())
	require.NoError(t, s.Set(newService()))
	require.Equal(t, []Name{web}, s.Take().Services)
	require.Equal(t, []string{"10.1.1.5:8080 node-a ready"}, endpointsOf(t, s, web), "B1")
}

func TestADualStackServiceHasItsPortsPerFamily(t *testing.T) {
	six := newSlice("web-6", ep("fd00:10:1::5", "node-a"))
	six.AddressType = discoveryv1.AddressTypeIPv6
	s, _ := newStore(t, six, newSlice("web-4", ep("10.1.1.5", "node-a")), newService(func(s *corev1.Service) {
		s.CreationTimestamp = metav1.Unix(100, 0)
		s.Annotations = map[string]string{annotationPolicy: "PreferLocal"}
		s.Spec.ClusterIPs, s.Spec.IPFamilies = []string{"10.96.0.10", "fd00:96::a"}, []corev1.IPFamily{"IPv4", "IPv6"}
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "admin", Port: 81})
		s.Spec.ExternalIPs = []string{"2001:db8::7", "198.51.100.7"}
		s.Spec.InternalTrafficPolicy = ptr(corev1.ServiceInternalTrafficPolicyLocal)
	}))
	service, ok := s.Service(web)
	require.True(t, ok)
	require.Equal(t, web, service.Name)
	require.Equal(t, int64(100), service.Created.Unix())
	require.Equal(t, "PreferLocal", service.Policy)
	require.Len(t, service.Ports, 4)
	for i, want := range []struct {
		dialled, external string
		endpoints         []string
	}{
		{"10.96.0.10:80", "198.51.100.7", []string{"10.1.1.5:8080 node-a ready"}},
		{"[fd00:96::a]:80", "2001:db8::7", []string{"[fd00:10:1::5]:8080 node-a ready"}},
		{"10.96.0.10:81", "198.51.100.7", []string{}},
		{"[fd00:96::a]:81", "2001:db8::7", []string{}},
	} {
		p := service.Ports[i]
		require.Equal(t, want.dialled, p.ClusterIP.String(), "A3")
		require.Equal(t, addrs(want.external), p.ExternalIPs, "A4")
		require.Empty(t, p.LoadBalancerIPs)
		require.Equal(t, want.endpoints, text(p.Endpoints))
		require.Equal(t, "demo", p.Port.Namespace)
		require.Equal(t, "web", p.Port.Service)
		require.Equal(t, "TCP", p.Port.Protocol)
		require.Equal(t, selector.PolicyLocal, p.Port.Internal)
	}
}

func TestWhatWasGivenOutDoesNotChange(t *testing.T) {
	s, _ := newStore(t, newService(), newSlice("web-1", ep("10.1.1.5", "node-a")))
	before, _ := s.Service(web)
	require.NoError(t, s.Set(newSlice("web-1", ep("10.1.1.6", "node-b"))))
	require.NoError(t, s.Delete(newService()))
	require.Equal(t, []string{"10.1.1.5:8080 node-a ready"}, text(before.Ports[0].Endpoints))
}

func TestNodes(t *testing.T) {
	s, told := newStore(t)
	require.Equal(t, Node{Name: "node-a"}, s.Node())
	require.Zero(t, s.Nodes())
	require.Len(t, *told, 1)
	require.Equal(t, "Node node-a: does not exist; its zone is not known, so zone hints have no effect", (*told)[0].String())

	require.NoError(t, s.Set(newNode("node-a", "zone-1"), newNode("node-b", "zone-2")))
	require.Equal(t, Node{Name: "node-a", Known: true, Zone: "zone-1"}, s.Node())
	require.Equal(t, 2, s.Nodes())
	require.Empty(t, s.Problems())

	require.NoError(t, s.Set(newNode("node-a", "zone\n1")))
	require.Equal(t, Node{Name: "node-a", Known: true}, s.Node(), "a zone that is none is not known")
	require.Len(t, *told, 2)
	require.Equal(t, `"zone\n1"`, (*told)[1].Value)

	nameless := NewStore(StoreOptions{OnProblem: func(p Problem) { t.Error(p) }})
	require.NoError(t, nameless.Replace(newNode("", "zone-1")))
	require.Equal(t, Node{}, nameless.Node())
}
