package nft_test

import (
	"testing"

	"github.com/nearside/nearside/internal/packettest"
	"github.com/nearside/nearside/nft"
)

const (
	webVIP       = "198.51.100.80:80"
	webNodePort  = "0.0.0.0:30080"
	atNode       = "192.0.2.11:30080"
	atNodeToo    = "192.0.2.12:30080"
	clientsRange = "198.51.100.0/24"
)

// bothPlaces is a service with an endpoint elsewhere and one on this node.
func bothPlaces(frontend string) nft.Service { return service(frontend, farA, "@"+nearA) }

// The endings of someone who meets both endpoints of bothPlaces.
var (
	meetsBothAsItself    = []ending{reaches(farA), reaches(nearA)}
	meetsBothMasqueraded = []ending{reaches(farA).masqueradedBy(onWorld), reaches(nearA).masqueradedBy(onPods)}
)

var externalRows = []trafficRow{
	// Every connection to an external frontend is masqueraded ...
	{
		name: "a client reaches all endpoints of a VIP masqueraded", node: podsKnown, from: aClient, to: webVIP,
		services: []nft.Service{external(bothPlaces(webVIP))}, want: meetsBothMasqueraded,
	},
	{
		name: "a pod reaches all endpoints of a VIP masqueraded", node: podsKnown, from: aPod, to: webVIP,
		services: []nft.Service{external(bothPlaces(webVIP))}, want: meetsBothMasqueraded,
	},
	{
		name: "the node reaches all endpoints of a VIP masqueraded", node: podsKnown, from: theNode, to: webVIP,
		services: []nft.Service{external(bothPlaces(webVIP))}, want: meetsBothMasqueraded,
	},
	{
		name: "a client reaches a VIP masqueraded where pods are not known", node: podsUnknown, from: aClient, to: webVIP,
		services: []nft.Service{external(bothPlaces(webVIP))}, want: meetsBothMasqueraded,
	},
	{
		name: "a client reaches a node port masqueraded", node: podsKnown, from: aClient, to: atNode,
		services: []nft.Service{external(bothPlaces(webNodePort))}, want: meetsBothMasqueraded,
	},
	{
		name: "a client reaches a node port at the node's other address", node: podsKnown, from: aClient, to: atNodeToo,
		services: []nft.Service{external(bothPlaces(webNodePort))}, want: meetsBothMasqueraded,
	},
	{
		name: "a pod reaches a node port masqueraded", node: podsKnown, from: aPod, to: atNode,
		services: []nft.Service{external(bothPlaces(webNodePort))}, want: meetsBothMasqueraded,
	},
	{
		name: "the node reaches its node port masqueraded", node: podsKnown, from: theNode, to: atNode,
		services: []nft.Service{external(bothPlaces(webNodePort))}, want: meetsBothMasqueraded,
	},

	// ... unless clients outside get local endpoints only.
	{
		name: "a client reaches only local endpoints of a local VIP, as itself", node: podsKnown, from: aClient, to: webVIP,
		services: []nft.Service{localOutside(bothPlaces(webVIP), "@"+nearA)}, want: []ending{reaches(nearA)},
	},
	{
		name: "a client keeps its address even where everyone is masqueraded", node: masqueradesAll, from: aClient, to: webVIP,
		services: []nft.Service{localOutside(bothPlaces(webVIP), "@"+nearA)}, want: []ending{reaches(nearA)},
	},
	{
		name: "a pod reaches all endpoints of a local VIP, as itself", node: podsKnown, from: aPod, to: webVIP,
		services: []nft.Service{localOutside(bothPlaces(webVIP), "@"+nearA)}, want: meetsBothAsItself,
	},
	{
		name: "a pod of another node reaches all endpoints of a local VIP, as itself", node: podsKnown, from: farPod, to: webVIP,
		services: []nft.Service{localOutside(bothPlaces(webVIP), "@"+nearA)}, want: meetsBothAsItself,
	},
	{
		name: "the node reaches all endpoints of a local VIP masqueraded", node: podsKnown, from: theNode, to: webVIP,
		services: []nft.Service{localOutside(bothPlaces(webVIP), "@"+nearA)}, want: meetsBothMasqueraded,
	},
	{
		name: "a pod is a client like others where pods are not known", node: podsUnknown, from: aPod, to: webVIP,
		services: []nft.Service{localOutside(bothPlaces(webVIP), "@"+nearA)}, want: []ending{reaches(nearA)},
	},
	{
		name: "a pod that meets itself through a local VIP is masqueraded", node: podsKnown, from: packettest.Pod("10.1.1.5"), to: webVIP,
		services: []nft.Service{localOutside(bothPlaces(webVIP), "@"+nearA)},
		want:     []ending{reaches(farA), reaches(nearA).masqueradedBy(onPods)},
	},
	{
		name: "a client reaches only local endpoints of a local node port, as itself", node: podsKnown, from: aClient, to: atNode,
		services: []nft.Service{localOutside(bothPlaces(webNodePort), "@"+nearA)}, want: []ending{reaches(nearA)},
	},
	{
		name: "a pod reaches all endpoints of a local node port, as itself", node: podsKnown, from: aPod, to: atNode,
		services: []nft.Service{localOutside(bothPlaces(webNodePort), "@"+nearA)}, want: meetsBothAsItself,
	},
	{
		name: "the node reaches all endpoints of its local node port masqueraded", node: podsKnown, from: theNode, to: atNode,
		services: []nft.Service{localOutside(bothPlaces(webNodePort), "@"+nearA)}, want: meetsBothMasqueraded,
	},

	// Without local endpoints only clients outside notice.
	{
		name: "a client meets silence at a local VIP without local endpoints", node: podsKnown, from: aClient, to: webVIP,
		services: []nft.Service{localOutside(service(webVIP, farA))}, want: []ending{dropped},
	},
	{
		name: "a pod reaches a local VIP without local endpoints", node: podsKnown, from: aPod, to: webVIP,
		services: []nft.Service{localOutside(service(webVIP, farA))}, want: []ending{reaches(farA)},
	},
	{
		name: "the node reaches a local VIP without local endpoints", node: podsKnown, from: theNode, to: webVIP,
		services: []nft.Service{localOutside(service(webVIP, farA))}, want: []ending{reaches(farA).masqueradedBy(onWorld)},
	},
	{
		name: "a client meets silence at a local node port without local endpoints", node: podsKnown, from: aClient, to: atNode,
		services: []nft.Service{localOutside(service(webNodePort, farA))}, want: []ending{dropped},
	},

	// Refusals, and what is left alone.
	{
		name: "a client is refused at a VIP without endpoints", node: podsKnown, from: aClient, to: webVIP,
		services: []nft.Service{external(service(webVIP))}, want: []ending{refused},
	},
	{
		name: "the node is refused at a node port without endpoints", node: podsKnown, from: theNode, to: atNode,
		services: []nft.Service{external(service(webNodePort))}, want: []ending{refused},
	},
	{
		name: "a client is refused at a node port without endpoints", node: podsKnown, from: aClient, to: atNode,
		services: []nft.Service{external(service(webNodePort))}, want: []ending{refused},
	},
	{
		name: "a VIP's other ports pass untouched", node: podsKnown, from: aClient, to: "198.51.100.80:81",
		services: []nft.Service{external(bothPlaces(webVIP))}, want: []ending{untouched},
	},
	{
		name: "the node's other ports pass untouched", node: podsKnown, from: aClient, to: "192.0.2.11:30081",
		services: []nft.Service{external(bothPlaces(webNodePort))}, want: []ending{untouched},
	},
	{
		name: "a node port at an address that serves none passes untouched", node: podsKnown, from: aPod, to: "10.1.1.1:30080",
		services: []nft.Service{external(bothPlaces(webNodePort))}, want: []ending{untouched},
	},
	{
		name: "a node port of another node passes untouched", node: podsKnown, from: aPod, to: "192.0.2.13:30080",
		services: []nft.Service{external(bothPlaces(webNodePort))}, want: []ending{untouched},
	},

	// Source ranges.
	{
		name: "a client within the ranges of a VIP reaches it", node: podsKnown, from: aClient, to: webVIP,
		services: []nft.Service{allowing(external(bothPlaces(webVIP)), "203.0.113.0/24", clientsRange)}, want: meetsBothMasqueraded,
	},
	{
		name: "a client outside the ranges of a VIP meets silence", node: podsKnown, from: aClient, to: webVIP,
		services: []nft.Service{allowing(external(bothPlaces(webVIP)), "203.0.113.0/24", "198.51.0.0/24")}, want: []ending{dropped},
	},
	{
		name: "a pod outside the ranges of a VIP meets silence", node: podsKnown, from: aPod, to: webVIP,
		services: []nft.Service{allowing(external(bothPlaces(webVIP)), clientsRange)}, want: []ending{dropped},
	},
	{
		name: "the node outside the ranges of a VIP meets silence", node: podsKnown, from: theNode, to: webVIP,
		services: []nft.Service{allowing(external(bothPlaces(webVIP)), clientsRange)}, want: []ending{dropped},
	},
	{
		name: "the node within the ranges of a local VIP reaches all its endpoints", node: podsKnown, from: theNode, to: webVIP,
		services: []nft.Service{allowing(localOutside(bothPlaces(webVIP), "@"+nearA), "192.0.2.12/32")}, want: meetsBothMasqueraded,
	},
	{
		name: "a client within the ranges of a local VIP reaches local endpoints", node: podsKnown, from: aClient, to: webVIP,
		services: []nft.Service{allowing(localOutside(bothPlaces(webVIP), "@"+nearA), clientsRange)}, want: []ending{reaches(nearA)},
	},
	{
		name: "everyone is within a range of all addresses", node: podsKnown, from: aClient, to: webVIP,
		services: []nft.Service{allowing(external(bothPlaces(webVIP)), "203.0.113.0/24", "0.0.0.0/0")}, want: meetsBothMasqueraded,
	},
	{
		name: "ranges of a VIP do not concern the ClusterIP", node: podsKnown, from: aClient, to: webIP,
		services: []nft.Service{
			{Name: "demo/web", Frontends: append(bothPlaces(webIP).Frontends, allowing(external(bothPlaces(webVIP)), "203.0.113.0/24").Frontends...)},
		},
		want: meetsBothMasqueraded,
	},

	// Addresses that ClusterIPs come from.
	{
		name: "a pod meets silence at a ClusterIP that no service has", node: podsKnown, from: aPod, to: "10.96.0.11:80",
		services: []nft.Service{service(webIP, farA)}, serviceCIDR: "10.96.0.0/16", want: []ending{dropped},
	},
	{
		name: "a client meets silence at a ClusterIP that no service has", node: podsKnown, from: aClient, to: "10.96.0.11:80",
		services: []nft.Service{service(webIP, farA)}, serviceCIDR: "10.96.0.0/16", want: []ending{dropped},
	},
	{
		name: "the node meets silence at a ClusterIP that no service has", node: podsKnown, from: theNode, to: "10.96.0.11:80",
		services: []nft.Service{service(webIP, farA)}, serviceCIDR: "10.96.0.0/16", want: []ending{dropped},
	},
	{
		name: "a pod is refused at a port that is none of a ClusterIP within the prefix", node: podsKnown, from: aPod, to: "10.96.0.10:81",
		services: []nft.Service{service(webIP)}, serviceCIDR: "10.96.0.0/16", want: []ending{refused},
	},
	{
		name: "a ClusterIP within the prefix is served", node: podsKnown, from: aPod, to: webIP,
		services: []nft.Service{service(webIP, farA)}, serviceCIDR: "10.96.0.0/16", want: []ending{reaches(farA)},
	},

	// Pods known by the interface that they come in through.
	{
		name: "a pod is known by its interface, whatever its address", node: podsByLink, from: packettest.Pod("172.16.0.9"), to: webIP,
		services: []nft.Service{bothPlaces(webIP)}, want: meetsBothAsItself,
	},
	{
		name: "a pod is known by the beginning of its interface's name", node: podsByLinks, from: packettest.Pod("172.16.0.9"), to: webIP,
		services: []nft.Service{bothPlaces(webIP)}, want: meetsBothAsItself,
	},
	{
		name: "a client with a pod's address is masqueraded where interfaces tell", node: podsByLink, from: farPod, to: webIP,
		services: []nft.Service{bothPlaces(webIP)}, want: meetsBothMasqueraded,
	},
	{
		name: "the node is masqueraded where interfaces tell", node: podsByLink, from: theNode, to: webIP,
		services: []nft.Service{bothPlaces(webIP)}, want: meetsBothMasqueraded,
	},
	{
		name: "the node is masqueraded where the beginning of interfaces' names tells", node: podsByLinks, from: theNode, to: webIP,
		services: []nft.Service{bothPlaces(webIP)}, want: meetsBothMasqueraded,
	},
	{
		name: "a pod reaches all endpoints of a local VIP where interfaces tell", node: podsByLink, from: packettest.Pod("172.16.0.9"), to: webVIP,
		services: []nft.Service{localOutside(bothPlaces(webVIP), "@"+nearA)}, want: meetsBothAsItself,
	},
	{
		name: "a client with a pod's address reaches local endpoints where interfaces tell", node: podsByLink, from: farPod, to: webVIP,
		services: []nft.Service{localOutside(bothPlaces(webVIP), "@"+nearA)}, want: []ending{reaches(nearA)},
	},
	{
		name: "the node reaches all endpoints of a local VIP where interfaces tell", node: podsByLinks, from: theNode, to: webVIP,
		services: []nft.Service{localOutside(bothPlaces(webVIP), "@"+nearA)}, want: meetsBothMasqueraded,
	},
}

func TestTrafficFromOutside(t *testing.T) { checkRows(t, externalRows) }
