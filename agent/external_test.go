package agent

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/nft"
	"github.com/nearside/nearside/selector"
)

// TestPlanOfExternalFrontends: each row is a Service on node-a with one
// endpoint there and one elsewhere, unless it says otherwise.
func TestPlanOfExternalFrontends(t *testing.T) {
	const here, elsewhere = "10.1.1.5:8080", "10.1.2.5:8080"
	endpoint := func(addr, node string) selector.Endpoint {
		return selector.Endpoint{Addr: netip.MustParseAddrPort(addr), Node: node, Ready: true, Serving: true}
	}
	both := []selector.Endpoint{endpoint(here, "node-a"), endpoint(elsewhere, "node-b")}
	for _, c := range []struct {
		name      string
		port      informer.ServicePort
		dialled   string
		backends  []string
		outside   []string // nil: the same as everyone
		empty     nft.Verdict
		sources   int
		frontends int
	}{
		{
			name: "a node port under policy Cluster leads everyone everywhere",
			port: informer.ServicePort{NodePort: 30080, Endpoints: both}, dialled: "0.0.0.0:30080",
			backends: []string{here, elsewhere}, frontends: 2,
		},
		{
			name: "a node port under policy Local leads clients outside to this node only",
			port: informer.ServicePort{NodePort: 30080, Endpoints: both, Port: selector.ServicePort{External: selector.PolicyLocal}}, dialled: "0.0.0.0:30080",
			backends: []string{here, elsewhere}, outside: []string{here}, frontends: 2,
		},
		{
			name: "without an endpoint on this node policy Local drops clients outside and nobody else",
			port: informer.ServicePort{NodePort: 30080, Endpoints: both[1:], Port: selector.ServicePort{External: selector.PolicyLocal}}, dialled: "0.0.0.0:30080",
			backends: []string{elsewhere}, outside: []string{}, empty: nft.Drop, frontends: 2,
		},
		{
			name: "internal policy Local does not touch external addresses",
			port: informer.ServicePort{NodePort: 30080, Endpoints: both, Port: selector.ServicePort{Internal: selector.PolicyLocal}}, dialled: "0.0.0.0:30080",
			backends: []string{here, elsewhere}, frontends: 2,
		},
		{
			name: "source ranges hold for load-balancer addresses",
			port: informer.ServicePort{
				Endpoints: both, LoadBalancerIPs: []netip.Addr{netip.MustParseAddr("198.51.100.10")},
				SourceRanges: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")},
			}, dialled: "198.51.100.10:80",
			backends: []string{here, elsewhere}, sources: 1, frontends: 2,
		},
		{
			name: "where this node may dial load-balancer addresses, they may dial each other",
			port: informer.ServicePort{
				Endpoints: both, LoadBalancerIPs: []netip.Addr{netip.MustParseAddr("198.51.100.10"), netip.MustParseAddr("198.51.100.11")},
				SourceRanges: []netip.Prefix{netip.MustParsePrefix("192.168.0.0/24"), netip.MustParsePrefix("203.0.113.0/24")},
			}, dialled: "198.51.100.10:80",
			backends: []string{here, elsewhere}, sources: 4, frontends: 3,
		},
		{
			name: "ranges that hold the load-balancer address already stay as they are",
			port: informer.ServicePort{
				Endpoints: both, LoadBalancerIPs: []netip.Addr{netip.MustParseAddr("198.51.100.10")},
				SourceRanges: []netip.Prefix{netip.MustParsePrefix("192.168.0.0/24"), netip.MustParsePrefix("198.51.100.0/24")},
			}, dialled: "198.51.100.10:80",
			backends: []string{here, elsewhere}, sources: 2, frontends: 2,
		},
		{
			name: "source ranges do not hold for external addresses",
			port: informer.ServicePort{
				Endpoints: both, ExternalIPs: []netip.Addr{netip.MustParseAddr("198.51.100.20")},
				SourceRanges: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")},
			}, dialled: "198.51.100.20:80",
			backends: []string{here, elsewhere}, frontends: 2,
		},
		{
			name: "an address that is external and a load balancer's is served once",
			port: informer.ServicePort{
				Endpoints: both, ExternalIPs: []netip.Addr{netip.MustParseAddr("198.51.100.20")}, LoadBalancerIPs: []netip.Addr{netip.MustParseAddr("198.51.100.20")},
			}, dialled: "198.51.100.20:80",
			backends: []string{here, elsewhere}, frontends: 2,
		},
		{
			name: "a port that nobody outside dials has a ClusterIP only",
			port: informer.ServicePort{Endpoints: both}, dialled: "10.96.0.10:80",
			backends: []string{here, elsewhere}, frontends: 1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.port.ClusterIP = netip.MustParseAddrPort("10.96.0.10:80")
			c.port.Port.Name, c.port.Port.Protocol = "http", "TCP"
			c.port.Port.Affinity = time.Hour
			env := environment{node: selector.Node{Name: "node-a"}, nodeAddrs: []netip.Addr{netip.MustParseAddr("fd00::a"), netip.MustParseAddr("192.168.0.10")}}
			service := &informer.Service{Name: informer.Name{Namespace: "demo", Name: "web"}, Ports: []informer.ServicePort{c.port}}
			planned := newPolicies(builtinSelectors(), "Cluster").selectService(service, env).plan(nft.IPv4, env.node)
			require.Len(t, planned.Frontends, c.frontends)
			var fe *nft.Frontend
			for i := range planned.Frontends {
				require.Equal(t, &nft.Sticky{Group: "http", Timeout: time.Hour}, planned.Frontends[i].Sticky)
				if planned.Frontends[i].Addr.String() == c.dialled {
					fe = &planned.Frontends[i]
				}
			}
			require.NotNil(t, fe)
			require.Equal(t, c.backends, addresses(fe.Backends))
			require.Len(t, fe.Sources, c.sources)
			if c.outside == nil {
				require.Nil(t, fe.Outside)
			} else {
				require.Equal(t, c.outside, addresses(fe.Outside.Backends))
				require.Equal(t, c.empty, fe.Outside.Empty)
			}
			_, problems := nft.Compile(nft.Config{}, []nft.Service{planned})
			require.Empty(t, problems)
		})
	}
}

func addresses(backends []nft.Backend) []string {
	out := make([]string, 0, len(backends))
	for _, b := range backends {
		out = append(out, b.Addr.String())
	}
	return out
}

// TestSourceRangesOfOneFamily: the other family is open (LB3), which is told.
func TestSourceRangesOfOneFamily(t *testing.T) {
	web := serviceObject("web", "10.96.0.9", "fd00:96::9")
	web.Spec.Type = corev1.ServiceTypeLoadBalancer
	web.Spec.LoadBalancerSourceRanges = []string{"203.0.113.0/24"}
	web.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.51.100.10"}, {IP: "2001:db8::10"}}
	var notices []Notice
	b := newCommitBench(t)
	b.opts.OnNotice = func(n Notice) { notices = append(notices, n) }
	require.NoError(t, b.store.Set(web, sliceObject("web", "10.0.0.1@node-a"), sliceObject("web", "fd00::1@node-a")))
	first := b.begin()
	require.NoError(t, first.Err())
	require.Equal(t, []Notice{{
		Reason: UnrestrictedFamily, Kind: "Service", Object: "shop/web", Field: "spec.loadBalancerSourceRanges",
		Message: "no range is IPv6, so everyone may dial the load balancer's IPv6 addresses: add ranges of that family",
	}}, notices)
	require.Contains(t, b.texts(nft.IPv4)[0], "203.0.113.0/24")
	require.Contains(t, b.texts(nft.IPv6)[0], "2001:db8::10")

	web.Spec.LoadBalancerSourceRanges = append(web.Spec.LoadBalancerSourceRanges, "2001:db8:1::/48")
	require.NoError(t, b.store.Set(web))
	second := b.sync(take(t, b.Agent))
	require.NoError(t, second.Err())
	require.Len(t, notices, 1)
}
