package semantics

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/nearside/nearside/agent"
	"github.com/nearside/nearside/internal/packettest"
)

func bothFamilies(prefix string) []netip.Prefix {
	p := netip.MustParsePrefix(prefix)
	return []netip.Prefix{p, packettest.TwinPrefix(p)}
}

func preferring(distribution string) serviceOption {
	return func(s *corev1.Service) { s.Spec.TrafficDistribution = &distribution }
}

func byInterface(name string) func(*agent.Options) {
	return func(o *agent.Options) { o.ClusterCIDRs, o.PodInterface = nil, name }
}

func byPrefix(prefix string) func(*agent.Options) {
	return func(o *agent.Options) { o.ClusterCIDRs, o.PodInterfacePrefix = nil, prefix }
}

func byNodeCIDR(o *agent.Options) { o.ClusterCIDRs, o.NodeCIDRs = nil, true }

func masqueradeAll(o *agent.Options) { o.MasqueradeAll = true }

var strangePod = packettest.Pod("172.16.0.9")

// detectionRows are about section L: how pods are told from other clients.
var detectionRows = []row{
	{
		shows: "L1", name: "the cluster's range makes a pod of every address in it",
		given: objects(web(), endpoints("web", farA8())),
		want:  probes(from([]packettest.Source{aPod, farPod}, webIP, reaches(farA)), from([]packettest.Source{aClient, strangePod}, webIP, reachesMasqueraded(farA))),
	},
	{
		shows: "L1", name: "the node's own range makes pods of this node's alone, and may change", options: byNodeCIDR,
		given: objects(web(), endpoints("web", farA8())),
		want:  probes(from([]packettest.Source{aPod}, webIP, reaches(farA)), from([]packettest.Source{farPod, aClient}, webIP, reachesMasqueraded(farA))),
		then: []step{{
			when: "with another range", change: objects(node("node-a", "zone-1", "192.0.2.11", "10.1.9.0/24")),
			want: probes(from([]packettest.Source{packettest.Pod("10.1.9.50")}, webIP, reaches(farA)), from([]packettest.Source{aPod}, webIP, reachesMasqueraded(farA))),
		}},
	},
	{
		shows: "L1 L3", name: "an interface makes pods of whatever comes in by it, and the node itself is none", options: byInterface("pods"),
		given: objects(web(), endpoints("web", farA8())),
		want:  probes(from([]packettest.Source{aPod, strangePod}, webIP, reaches(farA)), from([]packettest.Source{farPod, aClient, theNode}, webIP, reachesMasqueraded(farA))),
	},
	{
		shows: "L1 L3", name: "the beginning of interfaces' names makes pods, and the node itself is none", options: byPrefix("po"),
		given: objects(web(), endpoints("web", farA8())),
		want:  probes(from([]packettest.Source{aPod, strangePod}, webIP, reaches(farA)), from([]packettest.Source{farPod, aClient, theNode}, webIP, reachesMasqueraded(farA))),
	},
	{
		shows: "L2 M3", name: "without a range of the family nobody is masqueraded at a ClusterIP", options: clusterCIDR(""),
		given: objects(web(), endpoints("web", farA8())),
		want:  from(anyone, webIP, reaches(farA)),
	},
}

// masqueradeRows are about section M, as far as others do not show it.
var masqueradeRows = []row{
	{
		shows: "M1", name: "with masqueradeAll every connection to a ClusterIP is masqueraded", options: masqueradeAll,
		given: objects(web(), endpoints("web", nearA8(), farA8())),
		want:  from(anyone, webIP, reachesMasqueraded(nearA, farA)),
	},
	{
		shows: "M2", name: "whoever is no pod is masqueraded at a ClusterIP",
		given: objects(web(), endpoints("web", nearA8(), farA8())),
		want:  from([]packettest.Source{aClient, theNode, packettest.Outside("192.0.2.21")}, webIP, reachesMasqueraded(nearA, farA)),
	},
	{
		shows: "M3", name: "a pod reaches a ClusterIP as itself",
		given: objects(web(), endpoints("web", nearA8(), farA8())),
		want:  from([]packettest.Source{aPod, farPod}, webIP, reaches(nearA, farA)),
	},
	{
		shows: "M8", name: "a pod that meets itself is masqueraded, at a ClusterIP as at an external address under policy Local",
		given: objects(web(externalLocal, vips(vip)), endpoints("web", nearA8())),
		want: probes(from([]packettest.Source{packettest.Pod(nearAPod)}, webIP, reachesMasqueraded(nearA)),
			from([]packettest.Source{packettest.Pod(nearAPod)}, webVIP, reachesMasqueraded(nearA)), from([]packettest.Source{aPod}, webIP, reaches(nearA))),
	},
	{
		shows: "M9", name: "what no Service translates keeps its source, even with masqueradeAll", options: masqueradeAll,
		given: objects(web(), endpoints("web", nearA8())),
		want: probes(from([]packettest.Source{aPod, theNode}, "203.0.113.9:80", untouched), from([]packettest.Source{aClient}, nearA, untouched),
			from([]packettest.Source{packettest.Pod(nearAPod)}, nearA, untouched)),
	},
	{
		shows: "M12", name: "masqueradeAll leaves clients of an external address under policy Local as they are", options: masqueradeAll,
		given: objects(web(externalLocal, vips(vip)), endpoints("web", nearA8())),
		want:  probes(from([]packettest.Source{aClient, aPod}, webVIP, reaches(nearA)), from([]packettest.Source{aPod}, webIP, reachesMasqueraded(nearA))),
	},
}

func nodePortsAt(values ...string) func(*agent.Options) {
	return func(o *agent.Options) {
		var err error
		if o.NodePortAddresses, err = agent.ParseNodePortAddresses(values); err != nil {
			panic(err)
		}
	}
}

// nodePortRows are about section N.
var nodePortRows = []row{
	{
		shows: "N1", name: "node ports are served at the node's primary address and nowhere else unless more is asked for",
		given: objects(web(nodePort), endpoints("web", farA8())),
		want:  probes(from([]packettest.Source{aClient}, atNode, reachesMasqueraded(farA)), from([]packettest.Source{aClient}, atNodeToo, untouched), from([]packettest.Source{aPod}, "10.1.1.1:30080", untouched)),
	},
	{
		shows: "N1", name: "prefixes and the keyword primary together name addresses for node ports", options: nodePortsAt("primary", "192.0.2.12/32", "2001:db8:0:2::12/128"),
		given: objects(web(nodePort), endpoints("web", farA8())),
		want:  probes(from([]packettest.Source{aClient}, atNode, reachesMasqueraded(farA)), from([]packettest.Source{aClient}, atNodeToo, reachesMasqueraded(farA)), from([]packettest.Source{aPod}, "10.1.1.1:30080", untouched)),
	},
	{
		shows: "N3", name: "all addresses of the node serve node ports if asked for, and one that it gets later too", options: nodePortsAt("all"),
		given: objects(web(nodePort), endpoints("web", farA8())),
		want: probes(from([]packettest.Source{aClient}, atNode, reachesMasqueraded(farA)), from([]packettest.Source{aClient}, atNodeToo, reachesMasqueraded(farA)),
			from([]packettest.Source{aPod}, "10.1.1.1:30080", reachesMasqueraded(farA))),
		then: []step{{when: "with a new address", act: servesNewAddress}},
	},
	{
		shows: "N4", name: "connections to the node's loopback addresses are left alone", options: nodePortsAt("all"),
		given: objects(web(nodePort), endpoints("web", farA8())),
		then:  []step{{when: "at the beginning", act: loopbackIsLeftAlone}},
	},
	{
		shows: "N6", name: "source ranges do not hold for node ports",
		given: objects(web(everyWay, sourceRanges("198.51.0.0/24")), endpoints("web", farA8())),
		want:  probes(from([]packettest.Source{aClient}, atNode, reachesMasqueraded(farA)), from([]packettest.Source{aClient}, webVIP, dropped)),
	},
	{
		shows: "N7", name: "no rule accepts or drops what is no Service's", // and nothing listens
		given: objects(web(nodePort), endpoints("web", farA8())),
		want:  probes(from(anyone, "192.0.2.12:8081", untouched), from([]packettest.Source{aClient}, "10.1.1.50:8081", untouched)),
		then:  []step{{when: "then", act: hostPolicyHolds}},
	},
}

// servesNewAddress gives the node an address and waits until the agent, which
// hears of it from the kernel, serves node ports there.
func servesNewAddress(t *testing.T, s *stage) {
	t.Helper()
	late := s.addr("192.0.2.77:0").Addr()
	bits := "/32"
	if late.Is6() {
		bits = "/128"
	}
	s.Node.Run(t, "ip", "addr", "add", late.String()+bits, "dev", "world")
	defer s.Node.Run(t, "ip", "addr", "del", late.String()+bits, "dev", "world")
	require.Eventually(t, func() bool {
		return s.open(t, packettest.Probe{From: aClient, To: packettest.To("192.0.2.77:30080"), Proto: packettest.TCP}).Kind == packettest.Delivered
	}, patience, patience/1000)
}

// hostPolicyHolds lets a table of the host's drop what is forwarded: nothing of
// nearside's opens it.
func hostPolicyHolds(t *testing.T, s *stage) {
	t.Helper()
	s.Node.Run(t, "nft", "add table inet host; add chain inet host forward { type filter hook forward priority 0; }; add rule inet host forward th dport 8080 drop")
	defer s.Node.Run(t, "nft", "delete table inet host")
	s.checkAll(t, "behind a host that drops", from([]packettest.Source{aClient}, atNode, dropped))
}

// loopbackIsLeftAlone asks for the node port at localhost, where nothing
// listens, and looks at the setting that would let NAT serve it.
func loopbackIsLeftAlone(t *testing.T, s *stage) {
	t.Helper()
	localhost, source := netip.MustParseAddr("127.0.0.1"), "127.0.0.1"
	if s.twin {
		localhost, source = netip.IPv6Loopback(), "::1"
	}
	for _, p := range transports {
		got := s.Probe(t, packettest.Probe{From: packettest.HostAt(source), To: netip.AddrPortFrom(localhost, 30080), Proto: p})
		require.Equal(t, packettest.Untouched, got.Kind, "%v", got)
	}
	require.Equal(t, "0\n", s.Node.Run(t, "cat", "/proc/sys/net/ipv4/conf/all/route_localnet"))
}

// loadBalancerRows are about section LB.
var loadBalancerRows = []row{
	{
		shows: "LB1", name: "an address with ipMode VIP or none is served, one with ipMode Proxy or a host name is not",
		given: objects(web(vips(vip), func(s *corev1.Service) {
			s.Status.LoadBalancer.Ingress = append(s.Status.LoadBalancer.Ingress,
				corev1.LoadBalancerIngress{IP: "198.51.100.81", IPMode: new(corev1.LoadBalancerIPModeVIP)},
				corev1.LoadBalancerIngress{IP: "198.51.100.82", IPMode: new(corev1.LoadBalancerIPModeProxy)},
				corev1.LoadBalancerIngress{Hostname: "lb.example.com"})
		}), endpoints("web", farA8())),
		want: probes(from(anyone, webVIP, reachesMasqueraded(farA)), from(anyone, "198.51.100.81:80", reachesMasqueraded(farA)), from(anyone, "198.51.100.82:80", untouched)),
	},
	{
		shows: "LB2", name: "only sources in the ranges reach a load balancer's address; all other addresses are for everyone",
		given: objects(web(everyWay, sourceRanges(" 203.0.113.0/24")), endpoints("web", farA8())),
		want: probes(
			from([]packettest.Source{aClient}, webVIP, reachesMasqueraded(farA)),
			from([]packettest.Source{packettest.Outside("203.0.114.50"), aPod, theNode}, webVIP, dropped),
			from([]packettest.Source{packettest.Outside("203.0.114.50"), aPod}, webExtIP, reachesMasqueraded(farA)),
			from([]packettest.Source{packettest.Outside("203.0.114.50")}, atNode, reachesMasqueraded(farA)),
			from([]packettest.Source{aPod}, webIP, reaches(farA)),
		),
		then: []step{
			{when: "with other ranges", change: objects(web(everyWay, sourceRanges("203.0.114.0/24"))), want: probes(
				from([]packettest.Source{aClient}, webVIP, dropped), from([]packettest.Source{packettest.Outside("203.0.114.50")}, webVIP, reachesMasqueraded(farA)))},
			{when: "without ranges", change: objects(web(everyWay)), want: from([]packettest.Source{aClient, aPod}, webVIP, reachesMasqueraded(farA))},
		},
	},
	{
		shows: "LB3", name: "a range of all addresses restricts nobody",
		given: objects(web(vips(vip), sourceRanges("198.51.0.0/24", "0.0.0.0/0")), endpoints("web", farA8())),
		want:  from(anyone, webVIP, reachesMasqueraded(farA)),
	},
	{
		shows: "LB4", name: "ranges that hold the node's address let connections from the load balancer's address pass too",
		given: objects(web(vips(vip), sourceRanges("192.0.2.0/24")), endpoints("web", farA8())),
		want:  from([]packettest.Source{theNode}, webVIP, reachesMasqueraded(farA)),
		then: []step{{when: "with the address bound on the node", act: func(t *testing.T, s *stage) {
			t.Helper()
			bound := s.addr(webVIP).Addr()
			require.NoError(t, s.Bind(packettest.Node, bound))
			defer s.Node.Run(t, "ip", "addr", "del", netip.PrefixFrom(bound, bound.BitLen()).String(), "dev", "lo")
			s.checkAll(t, "bound", from([]packettest.Source{packettest.HostAt(vip)}, webVIP, reachesMasqueraded(farA)))
			s.change(t, web(vips(vip), sourceRanges("203.0.113.0/24")))
			s.checkAll(t, "the range does not hold the node", from([]packettest.Source{packettest.HostAt(vip)}, webVIP, dropped))
		}}},
	},
	{
		shows: "LB6", name: "pods and the node are served at a load balancer's address without leaving the node, also if it is bound here",
		given: objects(web(vips(vip)), endpoints("web", nearA8())),
		want:  from([]packettest.Source{aPod, theNode}, webVIP, reachesMasqueraded(nearA)),
		then: []step{{when: "with the address bound on the node", act: func(t *testing.T, s *stage) {
			t.Helper()
			bound := s.addr(webVIP).Addr()
			require.NoError(t, s.Bind(packettest.Node, bound))
			s.checkAll(t, "bound", from([]packettest.Source{aPod, theNode, aClient}, webVIP, reachesMasqueraded(nearA)))
			s.Node.Run(t, "ip", "addr", "del", netip.PrefixFrom(bound, bound.BitLen()).String(), "dev", "lo")
		}}},
	},
	{
		shows: "LB7", name: "external addresses are for everyone and need not be the node's",
		given: objects(web(everyWay, sourceRanges("198.51.0.0/24")), endpoints("web", farA8())),
		want:  from(anyone, webExtIP, reachesMasqueraded(farA)),
	},
}
