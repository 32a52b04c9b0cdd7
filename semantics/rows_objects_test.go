package semantics

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nearside/nearside/internal/packettest"
)

func allRows() (all []row) {
	for _, rows := range [][]row{
		serviceRows, sliceRows, endpointRows, trafficRows, topologyRows, policyRows, detectionRows, masqueradeRows,
		nodePortRows, loadBalancerRows, refusalRows, affinityRows, flowRows, nodeRows, lifeRows,
	} {
		all = append(all, rows...)
	}
	return all
}

// objects is shorter than []runtime.Object.
func objects(list ...runtime.Object) []runtime.Object { return list }

// serviceRows are about section A: which Services are taken.
var serviceRows = []row{
	{
		shows: "A1", name: "a Service given to another proxy is left alone, and the label may come and go",
		given: objects(web(labelled("service.kubernetes.io/service-proxy-name", "")), endpoints("web", farA8())),
		want:  from(anyone, webIP, untouched),
		then: []step{
			{when: "without the label", change: objects(web()), want: from([]packettest.Source{aPod}, webIP, reaches(farA))},
			{when: "with another value", change: objects(web(labelled("service.kubernetes.io/service-proxy-name", "other"))), want: from([]packettest.Source{aPod}, webIP, untouched)},
		},
	},
	{
		shows: "A2", name: "a headless Service is not served, not even at its external address",
		given: objects(web(at("None"), externalIPs(externalIP)), endpoints("web", farA8())),
		want:  probes(from([]packettest.Source{aClient}, webExtIP, untouched), from([]packettest.Source{aPod}, webIP, untouched)),
	},
	{
		shows: "A2", name: "an ExternalName Service with a stale ClusterIP is not served",
		given: objects(web(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName }), endpoints("web", farA8())),
		want:  from([]packettest.Source{aPod}, webIP, untouched),
	},
	{
		shows: "A3 W4 B2", name: "a Service of both families has endpoints of each family in that family", dualStack: true,
		given: objects(web(at("10.96.0.10", "fd00:10:96::10"), nodePort), slice("web", "web-4", farA8()), slice("web", "web-6", "fd00:10:1:2::5@node-b")),
		want:  probes(from([]packettest.Source{aPod}, webIP, reaches(farA)), from([]packettest.Source{aClient}, atNode, reachesMasqueraded(farA))),
	},
	{
		shows: "A3", name: "without ipFamilies the ClusterIP says which family a Service has",
		given: objects(web(func(s *corev1.Service) { s.Spec.IPFamilies = nil }), endpoints("web", farA8())),
		want:  from([]packettest.Source{aPod}, webIP, reaches(farA)),
	},
	{
		shows: "A3 A4", name: "a family that a Service has no ClusterIP of does not have its other addresses either", dualStack: true,
		only:  "the Service has IPv4 and what is probed is IPv6's absence, see the step",
		given: objects(web(nodePort, vips(vip, "2001:db8:51:100::80"), externalIPs(externalIP, "2001:db8:51:100::90")), slice("web", "web-4", farA8()), slice("web", "web-6", "fd00:10:1:2::5@node-b")),
		want:  probes(from([]packettest.Source{aClient}, webVIP, reachesMasqueraded(farA)), from([]packettest.Source{aClient}, webExtIP, reachesMasqueraded(farA))),
		then: []step{{when: "in IPv6", want: probes(
			from([]packettest.Source{aClient.Twin()}, "[2001:db8:51:100::80]:80", untouched),
			from([]packettest.Source{aClient.Twin()}, "[2001:db8:51:100::90]:80", untouched),
			from([]packettest.Source{aClient.Twin()}, "[2001:db8:0:2::11]:30080", untouched),
		)}},
	},
	{
		shows: "A4", name: "source ranges of another family restrict nobody",
		only:  "the range of the row is IPv6's",
		given: objects(web(vips(vip), sourceRanges("2001:db8:99::/48")), endpoints("web", farA8())),
		want:  from([]packettest.Source{aClient}, webVIP, reachesMasqueraded(farA)),
	},
	{
		shows: "A6 E1", name: "a port gets the number that the slice gives its name and protocol, whatever targetPort says",
		given: objects(web(func(s *corev1.Service) {
			s.Spec.Ports = []corev1.ServicePort{
				{Name: "a", Protocol: corev1.ProtocolTCP, Port: 80}, {Name: "b", Protocol: corev1.ProtocolTCP, Port: 81},
				{Name: "c", Protocol: corev1.ProtocolUDP, Port: 80},
			}
			s.Spec.Ports[0].TargetPort.IntVal = 1
		}), withPorts(endpoints("web", farA8()),
			slicePort("a", corev1.ProtocolTCP, 8080), slicePort("b", corev1.ProtocolTCP, 8081), slicePort("c", corev1.ProtocolUDP, 8082))),
		want: []probe{
			{from: aPod, to: webIP, speaking: onlyTCP, want: reaches(farA)},
			{from: aPod, to: "10.96.0.10:81", speaking: onlyTCP, want: reaches("10.1.2.5:8081")},
			{from: aPod, to: webIP, speaking: onlyUDP, want: reaches("10.1.2.5:8082")},
		},
	},
	{
		shows: "A6", name: "a port without a name meets the slice's port without a name",
		given: objects(web(func(s *corev1.Service) {
			s.Spec.Ports = []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: 80}}
		}), withPorts(endpoints("web", farA8()), slicePort("", corev1.ProtocolTCP, 8080))),
		want: []probe{{from: aPod, to: webIP, speaking: onlyTCP, want: reaches(farA)}},
	},
	{
		shows: "A7", name: "addresses with leading zeros are decimal", only: "IPv6 has no such form",
		given: objects(web(at("010.096.000.010")), endpoints("web", "010.001.002.005@node-b")),
		want:  from([]packettest.Source{aPod}, webIP, reaches(farA)),
	},
	{
		shows: "A7 Y6", name: "values that are no addresses are left out, and everything else is served",
		given: objects(web(vips("", "no address", vip), externalIPs("", "300.1.1.1", externalIP), sourceRanges("", "nowhere", " 203.0.113.0/24 ")),
			endpoints("web", "not-an-ip@node-a", farA8()), service("next", at("10.96.0.11")), endpoints("next", "10.1.3.5@node-c")),
		want: probes(
			from([]packettest.Source{aClient}, webVIP, reachesMasqueraded(farA)), from([]packettest.Source{aClient}, webExtIP, reachesMasqueraded(farA)),
			from([]packettest.Source{aPod}, "10.96.0.11:80", reaches(farB)),
		),
	},
	{
		shows: "A8", name: "external policy Local of a ClusterIP Service without external addresses means nothing",
		given: objects(web(externalLocal), endpoints("web", farA8())),
		want:  from([]packettest.Source{aPod}, webIP, reaches(farA)),
	},
	{
		shows: "A8", name: "external policy Local of a ClusterIP Service with external addresses counts",
		given: objects(web(externalLocal, externalIPs(externalIP)), endpoints("web", nearA8(), farA8())),
		want:  probes(from([]packettest.Source{aClient}, webExtIP, reaches(nearA)), from([]packettest.Source{aPod}, webIP, reaches(nearA, farA))),
	},
}

// farA8 and the others are endpoints as endpoints takes them.
func farA8() string  { return "10.1.2.5@node-b" }
func farB8() string  { return "10.1.3.5@node-c" }
func nearA8() string { return "10.1.1.5@node-a" }
func nearB8() string { return "10.1.1.6@node-a" }

func withPorts(s *discoveryv1.EndpointSlice, ports ...discoveryv1.EndpointPort) *discoveryv1.EndpointSlice {
	s.Ports = ports
	return s
}

// sliceRows are about section B: which EndpointSlices are taken.
var sliceRows = []row{
	{
		shows: "B1", name: "a slice belongs to the Service of its label and namespace, whoever made it",
		given: objects(
			web(),
			changed(slice("web", "made-by-hand", farA8()), func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelManagedBy] = "me" }),
			changed(slice("web", "elsewhere", "10.1.9.1@node-b"), func(s *discoveryv1.EndpointSlice) { s.Namespace = "other" }),
			changed(slice("web", "nobodys", "10.1.9.2@node-b"), func(s *discoveryv1.EndpointSlice) { s.Labels = nil }),
			slice("", "unlabelled", "10.1.9.3@node-b"),
		),
		want: from([]packettest.Source{aPod}, webIP, reaches(farA)),
	},
	{
		shows: "B1", name: "slices may be there before their Service",
		given: objects(endpoints("web", farA8())),
		want:  from([]packettest.Source{aPod}, webIP, untouched),
		then:  []step{{when: "with the Service", change: objects(web()), want: from([]packettest.Source{aPod}, webIP, reaches(farA))}},
	},
	{
		shows: "B2", name: "slices of names and of the other family add nothing", dualStack: true,
		only: "the Service has IPv4 alone",
		given: objects(web(), slice("web", "web-6", "fd00:10:1:2::5@node-b"), changed(slice("web", "web-names", "pods.example.com@node-b"), func(s *discoveryv1.EndpointSlice) {
			s.AddressType = discoveryv1.AddressTypeFQDN
		})),
		want: from([]packettest.Source{aPod}, webIP, refused),
	},
}

func changed[T any](object T, change func(T)) T {
	change(object)
	return object
}

// endpointRows are about section E: the endpoints of a Service port.
var endpointRows = []row{
	{
		shows: "E1", name: "the endpoints of all slices are served, each with its slice's ports",
		given: objects(web(), slice("web", "web-1", farA8()), withPorts(slice("web", "web-2", farB8()),
			slicePort("tcp", corev1.ProtocolTCP, 9090), slicePort("udp", corev1.ProtocolUDP, 9090), slicePort("sctp", corev1.ProtocolSCTP, 9090))),
		want: from([]packettest.Source{aPod}, webIP, reaches(farA, "10.1.3.5:9090")),
	},
	{
		shows: "E1", name: "slice ports without a name or number are no ports",
		given: objects(web(), withPorts(slice("web", "web-2", farB8()),
			discoveryv1.EndpointPort{Protocol: new(corev1.ProtocolTCP), Port: new(int32(8080))},
			discoveryv1.EndpointPort{Name: new("tcp"), Protocol: new(corev1.ProtocolTCP)},
			slicePort("udp", corev1.ProtocolUDP, 0))),
		want: from([]packettest.Source{aPod}, webIP, refused),
	},
	{
		shows: "E2", name: "of an endpoint's addresses the first counts, and one without any is left out",
		given: objects(web(), changed(endpoints("web", farA8(), farB8()), func(s *discoveryv1.EndpointSlice) {
			s.Endpoints[0].Addresses = append(s.Endpoints[0].Addresses, "10.1.9.9")
			s.Endpoints[1].Addresses = nil
		})),
		want: from([]packettest.Source{aPod}, webIP, reaches(farA)),
	},
	{
		shows: "E3", name: "an endpoint without conditions is ready",
		given: objects(web(), changed(endpoints("web", farA8()), func(s *discoveryv1.EndpointSlice) {
			s.Endpoints[0].Conditions = discoveryv1.EndpointConditions{}
		})),
		want: from([]packettest.Source{aPod}, webIP, reaches(farA)),
	},
	{
		shows: "E3", name: "an endpoint that is ready while it terminates is ready",
		given: objects(web(), changed(endpoints("web", farA8(), farB8()), func(s *discoveryv1.EndpointSlice) {
			s.Endpoints[0].Conditions.Terminating = new(true)
		})),
		want: from([]packettest.Source{aPod}, webIP, reaches(farA, farB)),
	},
	{
		shows: "E4", name: "an endpoint is local if its node is this one, and never without a node",
		given: objects(web(internalLocal), endpoints("web", nearA8(), nearB8()[:8], farA8())),
		want:  from([]packettest.Source{aPod}, webIP, reaches(nearA)),
	},
	{
		shows: "E5", name: "of two records of an address the one that does not terminate counts, in one slice or two",
		given: objects(web(), endpoints("web", "10.1.2.5@node-b gone", "10.1.2.5@node-c")),
		want:  from([]packettest.Source{aPod}, webIP, reaches(farA)),
		then: []step{
			{when: "the other way round", change: objects(endpoints("web", "10.1.2.5@node-c", "10.1.2.5@node-b gone")), want: from([]packettest.Source{aPod}, webIP, reaches(farA))},
			{when: "in two slices", change: objects(slice("web", "web-1", "10.1.2.5@node-b gone"), slice("web", "web-2", "10.1.2.5@node-c")), want: from([]packettest.Source{aPod}, webIP, reaches(farA))},
			{when: "in two slices, the other way round", change: objects(slice("web", "web-1", "10.1.2.5@node-c"), slice("web", "web-2", "10.1.2.5@node-b gone")), want: from([]packettest.Source{aPod}, webIP, reaches(farA))},
		},
	},
	{
		shows: "E6", name: "an endpoint that moves to another slice is served all the time",
		given: objects(web(), slice("web", "web-1", farA8()), slice("web", "web-2")),
		want:  from([]packettest.Source{aPod}, webIP, reaches(farA)),
		then: []step{
			{when: "in both", change: objects(slice("web", "web-2", farA8())), want: from([]packettest.Source{aPod}, webIP, reaches(farA))},
			{when: "moved", change: objects(slice("web", "web-1")), want: from([]packettest.Source{aPod}, webIP, reaches(farA))},
		},
	},
}
