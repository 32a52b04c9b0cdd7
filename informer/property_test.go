package informer

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// A small world, so that random events meet each other.
var (
	someNames  = []string{"web", "api", "db"}
	someAddrs  = []string{"10.1.1.1", "10.1.1.2", "10.1.1.3", "010.1.1.3", "::ffff:10.1.1.2", "fd00::1", "bad", "127.0.0.1"}
	someNodes  = []string{"", "node-a", "node-b", "bad node"}
	someZones  = []string{"", "zone-1", "zone-2"}
	someBools  = []*bool{nil, ptr(true), ptr(false)}
	somePorts  = []string{"", "http", "dns"}
	someProtos = []corev1.Protocol{"TCP", "UDP", ""}
	someCIDRs  = []string{"10.96.0.0/16", "10.96.7.0/24", "010.96.7.1/024", "10.96.0.0/20", "fd00:96::/112", "0.0.0.0/0", "bad"}
	someIPs    = []string{"10.96.0.1", "10.96.0.2", "None", "", "fd00:96::1", "bad"}
)

func pick[T any](t *rapid.T, from []T, label string) T { return rapid.SampledFrom(from).Draw(t, label) }

func drawService(t *rapid.T) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: pick(t, someNames, "service")}}
	if rapid.IntRange(0, 5).Draw(t, "foreign") == 0 {
		s.Labels = map[string]string{labelProxyName: "other"}
	}
	s.CreationTimestamp = metav1.Unix(int64(rapid.IntRange(0, 1).Draw(t, "created")), 0)
	s.Spec.ClusterIP = pick(t, someIPs, "clusterIP")
	s.Spec.ClusterIPs = []string{s.Spec.ClusterIP, pick(t, someIPs, "second")}
	if rapid.Bool().Draw(t, "families") {
		s.Spec.IPFamilies = []corev1.IPFamily{"IPv4", "IPv6"}
	}
	for range rapid.IntRange(0, 3).Draw(t, "ports") {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{
			Name: pick(t, somePorts, "port"), Protocol: pick(t, someProtos, "protocol"),
			Port: int32(rapid.IntRange(79, 81).Draw(t, "number")),
		})
	}
	return s
}

func drawEndpoint(t *rapid.T) discoveryv1.Endpoint {
	e := discoveryv1.Endpoint{
		Addresses: []string{pick(t, someAddrs, "address")},
		Conditions: discoveryv1.EndpointConditions{
			Ready: pick(t, someBools, "ready"), Serving: pick(t, someBools, "serving"), Terminating: pick(t, someBools, "terminating"),
		},
		NodeName: ptr(pick(t, someNodes, "node")), Zone: ptr(pick(t, someZones, "zone")),
	}
	if zone := pick(t, someZones, "hint"); zone != "" {
		e.Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: zone}}}
	}
	return e
}

func drawSlice(t *rapid.T) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "demo", Name: fmt.Sprintf("slice-%d", rapid.IntRange(0, 4).Draw(t, "slice")),
			Labels: map[string]string{discoveryv1.LabelServiceName: pick(t, append(someNames, ""), "of")},
		},
		AddressType: pick(t, []discoveryv1.AddressType{"IPv4", "IPv6", "FQDN", "IPv4"}, "type"),
		Endpoints:   rapid.SliceOfN(rapid.Custom(drawEndpoint), 0, 5).Draw(t, "endpoints"),
	}
	for range rapid.IntRange(0, 2).Draw(t, "slice ports") {
		s.Ports = append(s.Ports, discoveryv1.EndpointPort{
			Name: ptr(pick(t, somePorts, "port")), Protocol: ptr(pick(t, someProtos, "protocol")),
			Port: ptr(int32(rapid.IntRange(8080, 8081).Draw(t, "number"))),
		})
	}
	return s
}

func drawNode(t *rapid.T) *corev1.Node {
	return newNode(pick(t, []string{"node-a", "node-b", "node-c"}, "node"), pick(t, someZones, "zone"))
}

func drawServiceCIDR(t *rapid.T) *networkingv1.ServiceCIDR {
	return newServiceCIDR(pick(t, someNames, "service CIDR"), rapid.SliceOfN(rapid.SampledFrom(someCIDRs), 0, 3).Draw(t, "cidrs")...)
}

func drawObject(t *rapid.T) object {
	switch rapid.IntRange(0, 7).Draw(t, "kind") {
	case 0, 1:
		return drawService(t)
	case 2:
		return drawNode(t)
	case 3:
		return drawServiceCIDR(t)
	}
	return drawSlice(t)
}

// world is what exists, by kind and name.
type world map[string]object

func worldKey(o object) string { return fmt.Sprintf("%T %s/%s", o, o.GetNamespace(), o.GetName()) }

func (w world) objects() []object {
	out := make([]object, 0, len(w))
	for _, k := range slices.Sorted(maps.Keys(w)) {
		out = append(out, w[k])
	}
	return out
}

// joined is the value of every Service.
func joined(s *Store) map[Name]*Service {
	out := make(map[Name]*Service)
	for _, n := range s.Services() {
		out[n], _ = s.Service(n)
	}
	return out
}

// Case 052: after any events, one after the other or as new lists, a Store
// holds what a fresh one would that is given the final objects, and each Take
// names every Service whose value changed.
func TestIncrementalEqualsFull(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		quiet := StoreOptions{NodeName: "node-a", OnProblem: func(Problem) {}}
		s, w := NewStore(quiet), world{}
		set := func(s *Store, objects []object, complete []kind) {
			var all []change
			for _, o := range objects {
				changes, err := convert(o, "node-a")
				require.NoError(t, err)
				all = append(all, changes...)
			}
			s.update(all, complete)
		}
		set(s, nil, everything)
		before := seen{joined(s), s.ServiceCIDRs()}
		s.Take()
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			switch rapid.IntRange(0, 9).Draw(t, "event") {
			case 0: // a new list, in which things came and went
				for range rapid.IntRange(0, 3).Draw(t, "missed") {
					o := drawObject(t)
					if rapid.Bool().Draw(t, "gone") {
						delete(w, worldKey(o))
					} else {
						w[worldKey(o)] = o
					}
				}
				set(s, w.objects(), everything)
			case 1, 2:
				o := drawObject(t)
				delete(w, worldKey(o))
				require.NoError(t, s.Delete(o))
			case 3, 4:
				takeAndCompare(t, s, &before)
			default:
				o := drawObject(t)
				w[worldKey(o)] = o
				set(s, []object{o}, nil)
			}
		}
		takeAndCompare(t, s, &before)

		fresh := NewStore(quiet)
		set(fresh, w.objects(), everything)
		require.Equal(t, joined(fresh), joined(s))
		require.Equal(t, fresh.Node(), s.Node())
		require.Equal(t, fresh.Nodes(), s.Nodes())
		require.Equal(t, fresh.ServiceCIDRs(), s.ServiceCIDRs())
		require.Equal(t, covering(w), s.ServiceCIDRs())
		require.Equal(t, fresh.serviceCIDRs, s.serviceCIDRs)
		require.Equal(t, fresh.Problems(), s.Problems())
		require.Equal(t, len(s.book.all()), s.book.count)
		require.Len(t, s.slices, len(fresh.slices))
		require.Len(t, s.groups, len(fresh.groups))
	})
}

// covering is the union of all ServiceCIDRs, found the slow way.
func covering(w world) (out []netip.Prefix) {
	all := make(map[netip.Prefix]bool)
	for _, o := range w.objects() {
		c, ok := o.(*networkingv1.ServiceCIDR)
		for i := 0; ok && i < len(c.Spec.CIDRs); i++ {
			if p, reason := parsePrefix(c.Spec.CIDRs[i]); reason == "" && p.Bits() > 0 {
				all[p] = true
			}
		}
	}
	for p := range all {
		within := func(o netip.Prefix) bool { return o != p && o.Bits() <= p.Bits() && o.Contains(p.Addr()) }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(all)), within) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, netip.Prefix.Compare)
	return out
}

// seen is what a proxy saw last.
type seen struct {
	services map[Name]*Service
	cidrs    []netip.Prefix
}

func takeAndCompare(t *rapid.T, s *Store, before *seen) {
	now, taken := seen{joined(s), s.ServiceCIDRs()}, s.Take()
	require.Equal(t, !slices.Equal(before.cidrs, now.cidrs), taken.ServiceCIDRs)
	require.True(t, slices.IsSortedFunc(taken.Services, Name.compare))
	for _, name := range someNames {
		n := Name{"demo", name}
		old, current := before.services[n], now.services[n]
		if !slices.Contains(taken.Services, n) {
			require.Equal(t, old, current, "%s changed, but was not taken", n)
		}
	}
	*before = now
}

// Every joined value holds what the package promises of it.
func TestJoinedValuesAreWellFormed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewStore(StoreOptions{NodeName: "node-a", OnProblem: func(Problem) {}})
		for range rapid.IntRange(1, 20).Draw(t, "objects") {
			require.NoError(t, s.Set(drawObject(t)))
		}
		for n, service := range joined(s) {
			require.Equal(t, n, service.Name)
			require.NotEmpty(t, service.Ports)
			frontends := make(map[string]bool)
			for _, p := range service.Ports {
				frontend := p.ClusterIP.String() + p.Port.Protocol
				require.False(t, frontends[frontend], "frontend %s twice", frontend)
				frontends[frontend] = true
				for i, e := range p.Endpoints {
					require.Equal(t, p.ClusterIP.Addr().Is6(), e.Addr.Addr().Is6(), "family")
					require.NotZero(t, e.Addr.Port())
					require.Empty(t, unusable(e.Addr.Addr()))
					if i > 0 {
						require.Negative(t, p.Endpoints[i-1].Addr.Compare(e.Addr), "in order, each once")
					}
				}
			}
		}
	})
}
