package semantics

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/nearside/nearside/internal/packettest"
)

// proxied has one address with the given ipMode and one with VIP.
func proxied(mode corev1.LoadBalancerIPMode) *corev1.Service {
	s := web(nodePort, vips(vip, "198.51.100.81"))
	s.Status.LoadBalancer.Ingress[0].IPMode = &mode
	s.Status.LoadBalancer.Ingress[1].IPMode = new(corev1.LoadBalancerIPModeVIP)
	return s
}

// onePort gives a Service one port.
func onePort(name string, protocol corev1.Protocol, number int32) serviceOption {
	return func(s *corev1.Service) {
		s.Spec.Ports = []corev1.ServicePort{{Name: name, Protocol: protocol, Port: number}}
	}
}

var ofAnotherProxy = labelled("service.kubernetes.io/service-proxy-name", "other")

// objectCases are about what objects say and do not say.
var objectCases = []reportedCase{
	{
		number: "014", url: "https://github.com/projectcalico/calico/issues/8650",
		says: "Pods of a dead node do not come back when they begin to terminate.", elsewhere: []string{"informer.TestCase014TerminatingWithoutServingIsNeverUsed"},
		rows: []row{{
			name:  "an endpoint fails and terminates later",
			given: objects(web(), endpoints("web", nearA8(), farA8())),
			want:  from(sources(aPod), webIP, reaches(nearA, farA)),
			then: []step{
				{when: "it fails", change: objects(endpoints("web", nearA8(), "10.1.2.5@node-b unready")), want: from(sources(aPod), webIP, reaches(nearA))},
				{when: "it terminates", change: objects(endpoints("web", nearA8(), "10.1.2.5@node-b gone")), want: from(sources(aPod), webIP, reaches(nearA))},
			},
		}},
	},
	{
		number: "016", url: kubernetesIssues + "135266",
		says: "Of two records of one address the living one is served, in any order.", elsewhere: []string{"informer.TestCase016TwoRecordsOfOneAddress"},
		rows: []row{{
			name:  "two records of one address in every order",
			given: objects(web(), endpoints("web", "10.1.2.5@node-b gone", "10.1.2.5@node-c")),
			want:  from(sources(aPod), webIP, reaches(farA)),
			then: []step{
				{when: "ready first", change: objects(endpoints("web", "10.1.2.5@node-c", "10.1.2.5@node-b gone")), want: from(sources(aPod), webIP, reaches(farA))},
				{when: "terminating in the later slice", change: objects(endpoints("web", "10.1.2.5@node-c"), slice("web", "web-2", "10.1.2.5@node-b gone")), want: from(sources(aPod), webIP, reaches(farA))},
				{when: "ready in the later slice", change: objects(endpoints("web", "10.1.2.5@node-b gone"), slice("web", "web-2", "10.1.2.5@node-c")), want: from(sources(aPod), webIP, reaches(farA))},
			},
		}},
	},
	{
		number: "035", url: "https://github.com/k3s-io/k3s/issues/767",
		says: "Each family of a dual-stack Service is served, and stops being served when the Service gives it up.",
		rows: []row{
			{
				name: "both families of a node port are served", dualStack: true,
				given: objects(web(nodePort, at("10.96.0.10", "fd00:10:96::10")), slice("web", "web-4", farA8()), slice("web", "web-6", "fd00:10:1:2::5@node-b")),
				want:  probes(from(sources(aClient), atNode, reachesMasqueraded(farA)), from(sources(aPod), webIP, reaches(farA))),
			},
			{
				name: "a family that is given up is left alone", dualStack: true, only: "the family that stays is IPv4",
				given: objects(web(nodePort, at("10.96.0.10", "fd00:10:96::10")), slice("web", "web-4", farA8()), slice("web", "web-6", "fd00:10:1:2::5@node-b")),
				then: []step{{when: "IPv4 alone", change: objects(web(nodePort)), want: probes(from(sources(aClient), atNode, reachesMasqueraded(farA)),
					from(sources(aClient.Twin()), packettest.TwinPort(packettest.To(atNode)).String(), untouched),
					from(sources(aPod.Twin()), packettest.TwinPort(packettest.To(webIP)).String(), untouched))}},
			},
		},
	},
	{
		number: "037", url: "https://github.com/cilium/cilium/issues/9207",
		says: "Services may share an address and port if their protocols differ.", elsewhere: []string{"informer.TestCase037SameAddressAndPortOtherProtocol"},
		rows: []row{{
			name: "TCP and UDP of one address belong to two Services",
			given: objects(
				service("dns-t", at("10.96.0.41"), onePort("", corev1.ProtocolTCP, 53), vips(vip)), service("dns-u", at("10.96.0.42"), onePort("", corev1.ProtocolUDP, 53), vips(vip)),
				withPorts(endpoints("dns-t", nearA8()), slicePort("", corev1.ProtocolTCP, 8080)), withPorts(endpoints("dns-u", nearB8()), slicePort("", corev1.ProtocolUDP, 8080)),
			),
			want: []probe{
				{from: aClient, to: "198.51.100.80:53", speaking: onlyTCP, want: reachesMasqueraded(nearA)},
				{from: aClient, to: "198.51.100.80:53", speaking: onlyUDP, want: reachesMasqueraded(nearB)},
			},
			then: []step{{when: "one is deleted", remove: objects(service("dns-u")), want: []probe{
				{from: aClient, to: "198.51.100.80:53", speaking: onlyTCP, want: reachesMasqueraded(nearA)},
				{from: aClient, to: "198.51.100.80:53", speaking: onlyUDP, want: untouched},
			}}},
		}},
	},
	{
		number: "040", url: kubernetesIssues + "132646",
		says: "The port of the pod comes from the slice.", elsewhere: []string{"informer.TestCase040ThePodPortComesFromTheSlice"},
		rows: []row{{
			name:  "a slice made by hand gives the port, and another one",
			given: objects(web(onePort("http", corev1.ProtocolTCP, 80)), withPorts(endpoints("web", nearA8()), slicePort("http", corev1.ProtocolTCP, 9376))),
			want:  []probe{{from: aPod, to: webIP, speaking: onlyTCP, want: reaches("10.1.1.5:9376")}},
			then: []step{{when: "another port", change: objects(withPorts(endpoints("web", nearA8()), slicePort("http", corev1.ProtocolTCP, 9377))),
				want: []probe{{from: aPod, to: webIP, speaking: onlyTCP, want: reaches("10.1.1.5:9377")}}}},
		}},
	},
	{
		number: "043", url: kubernetesIssues + "131497",
		says: "A headless Service is not served and harms nobody.", elsewhere: []string{"informer.TestCase043HeadlessIsNotServed"},
		rows: []row{{
			name: "a headless Service with an external address next to another Service",
			given: objects(service("headless", at("None"), externalIPs(externalIP)), endpoints("headless", nearA8()),
				web(), endpoints("web", nearB8())),
			want: probes(from(sources(aClient), webExtIP, untouched), from(sources(aPod), webIP, reaches(nearB))),
		}},
	},
	{
		number: "044", url: kubernetesIssues + "98577",
		says: "A Service comes back when it is no longer another proxy's.", elsewhere: []string{"informer.TestCase044ProxyNameLabelComesAndGoes"},
		rows: []row{{
			name:  "the label comes and goes, on the slice too",
			given: objects(web(), endpoints("web", nearA8())),
			want:  from(sources(aPod), webIP, reaches(nearA)),
			then: []step{
				{when: "labelled", change: objects(web(ofAnotherProxy)), want: from(sources(aPod), webIP, untouched)},
				{when: "not labelled", change: objects(web()), want: from(sources(aPod), webIP, reaches(nearA))},
				{when: "both labelled", change: objects(labelledSlice(), web(ofAnotherProxy)), want: from(sources(aPod), webIP, untouched)},
				{when: "the Service alone labelled", change: objects(endpoints("web", nearA8())), want: from(sources(aPod), webIP, untouched)},
				{when: "none labelled", change: objects(web()), want: from(sources(aPod), webIP, reaches(nearA))},
			},
		}},
	},
	{
		number: "049", url: kubernetesIssues + "111321",
		says:   "A Node that is made anew with another pod range is followed, and while it is missing its old range holds.",
		notYet: "while the Node is missing there is no range, so that clients outside are not masqueraded",
		rows: []row{{
			name: "the Node comes back with another range", options: byNodeCIDR,
			given: objects(web(), endpoints("web", farA8())),
			want:  probes(from(sources(aPod), webIP, reaches(farA)), from(sources(aClient), webIP, reachesMasqueraded(farA))),
			then: []step{
				{when: "no Node", remove: objects(nodeA()), want: from(sources(aPod), webIP, reaches(farA))},
				{when: "another range", change: objects(node("node-a", "zone-1", "192.0.2.11", "10.1.9.0/24")),
					want: probes(from(sources(packettest.Pod("10.1.9.50")), webIP, reaches(farA)), from(sources(aClient), webIP, reachesMasqueraded(farA)))},
			},
		}},
	},
	{
		number: "056", url: kubernetesIssues + "105182",
		says: "Values that are no addresses are left out one by one, and told once.", elsewhere: []string{"informer.TestCase056BadValuesAreSkippedOneByOne", "informer.TestAProblemIsToldOnce"},
		rows: []row{{
			name: "blank, foreign and broken addresses next to good ones",
			given: objects(web(nodePort, vips(" ", vip), hostname), endpoints("web", nearA8(), "not-an-ip@node-a", "10.1.1.300@node-a"),
				service("fine", at("10.96.0.11")), endpoints("fine", nearB8())),
			want: probes(from(sources(aClient), webVIP, reachesMasqueraded(nearA)), from(sources(aPod), webIP, reaches(nearA)), from(sources(aPod), "10.96.0.11:80", reaches(nearB))),
		}},
	},
	{
		number: "058", url: kubernetesIssues + "51499",
		says: "Optional fields that are absent have the defaults of the API.", elsewhere: []string{"informer.TestCase058AbsentOptionalFields"},
		rows: []row{{
			name: "a sticky Service without configuration and endpoints without conditions",
			given: objects(
				web(func(s *corev1.Service) {
					s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
					s.Spec.Ports = []corev1.ServicePort{{Port: 80}}
				}),
				changed(withPorts(endpoints("web", nearA8(), nearB8()), discoveryv1.EndpointPort{Name: new(""), Port: new(int32(8080))}), func(s *discoveryv1.EndpointSlice) {
					s.Endpoints[0] = discoveryv1.Endpoint{Addresses: s.Endpoints[0].Addresses}
					s.Endpoints[1] = discoveryv1.Endpoint{}
				}),
				withPorts(slice("web", "portless", "10.1.1.7@node-a")),
				changed(slice("", "nameless", "x.example.com"), func(s *discoveryv1.EndpointSlice) {
					s.Labels, s.AddressType, s.Ports = nil, discoveryv1.AddressTypeFQDN, nil
				}),
			),
			want: []probe{{from: aPod, to: webIP, speaking: onlyTCP, want: reaches(nearA)}},
		}},
	},
}

func labelledSlice() *discoveryv1.EndpointSlice {
	return changed(endpoints("web", nearA8()), func(s *discoveryv1.EndpointSlice) {
		s.Labels["service.kubernetes.io/service-proxy-name"] = "other"
	})
}

func hostname(s *corev1.Service) {
	s.Status.LoadBalancer.Ingress = append(s.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{Hostname: "lb.example.com"})
}
