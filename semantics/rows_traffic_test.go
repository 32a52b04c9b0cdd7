package semantics

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/agent"
	"github.com/nearside/nearside/internal/packettest"
)

// trafficRows are about section R: which endpoints get traffic.
var trafficRows = []row{
	{
		shows: "R1", name: "ready endpoints get everything; without one, those that terminate and still serve do",
		given: objects(web(), endpoints("web", farA8(), "10.1.3.5@node-c terminating", "10.1.3.6@node-c unready", "10.1.3.7@node-c gone")),
		want:  from(anyone[:1], webIP, reaches(farA)),
		then: []step{
			{when: "none is ready", change: objects(endpoints("web", "10.1.2.5@node-b terminating", "10.1.3.5@node-c terminating", "10.1.3.6@node-c unready", "10.1.3.7@node-c gone")), want: from(anyone[:1], webIP, reaches(farA, farB))},
			{when: "none serves", change: objects(endpoints("web", "10.1.3.6@node-c unready", "10.1.3.7@node-c gone")), want: from(anyone[:1], webIP, refused)},
		},
	},
	{
		shows: "R2", name: "on this node terminating endpoints step in although other nodes have ready ones",
		given: objects(web(internalLocal), endpoints("web", "10.1.1.5@node-a terminating", "10.1.1.6@node-a unready", farA8())),
		want:  from(anyone[:1], webIP, reaches(nearA)),
	},
	{
		shows: "R3", name: "an endpoint that is neither ready nor serving never gets anything",
		given: objects(web(), endpoints("web", "10.1.2.5@node-b unready", "10.1.3.5@node-c gone")),
		want:  from(anyone, webIP, refused),
	},
	{
		shows: "R4 D1 D2", name: "policy Local refuses without an endpoint anywhere, and is silent with one elsewhere",
		given: objects(web(internalLocal, externalLocal, nodePort), endpoints("web", "10.1.2.5@node-b unready")),
		want:  probes(from(anyone, webIP, refused), from([]packettest.Source{aClient, aPod, theNode}, atNode, refused)),
		then: []step{
			{when: "one elsewhere is ready", change: objects(endpoints("web", farA8())), want: probes(from(anyone, webIP, dropped), from([]packettest.Source{aClient}, atNode, dropped))},
			{when: "one elsewhere terminates and serves", change: objects(endpoints("web", "10.1.2.5@node-b terminating")), want: probes(from(anyone, webIP, dropped), from([]packettest.Source{aClient}, atNode, dropped))},
		},
	},
	{
		shows: "R5 P6", name: "internal policy Local is for all clients of the ClusterIP and for no external address",
		given: objects(web(internalLocal, everyWay), endpoints("web", nearA8(), farA8())),
		want: probes(
			from([]packettest.Source{aPod, farPod}, webIP, reaches(nearA)),
			from([]packettest.Source{theNode, aClient}, webIP, reachesMasqueraded(nearA)),
			from([]packettest.Source{aClient, aPod}, atNode, reachesMasqueraded(nearA, farA)),
			from([]packettest.Source{aClient}, webVIP, reachesMasqueraded(nearA, farA)),
		),
	},
	{
		shows: "R5", name: "external policy Local is for external addresses and not for the ClusterIP",
		given: objects(web(externalLocal, everyWay), endpoints("web", nearA8(), farA8())),
		want: probes(
			from([]packettest.Source{aPod}, webIP, reaches(nearA, farA)),
			from([]packettest.Source{aClient}, webVIP, reaches(nearA)),
			from([]packettest.Source{aClient}, webExtIP, reaches(nearA)),
			from([]packettest.Source{aClient}, atNode, reaches(nearA)),
		),
	},
	{
		shows: "R6", name: "three endpoints get about a third of new connections each",
		given: objects(web(), endpoints("web", nearA8(), farA8(), farB8())),
		then:  []step{{when: "after 900 connections", act: countsAreFair}},
	},
	{
		shows: "R7 U2", name: "a connection stays with its endpoint whatever becomes of the endpoint",
		given: objects(web(), endpoints("web", farA8())),
		then: []step{{when: "with open connections", act: func(t *testing.T, s *stage) {
			t.Helper()
			stays := map[packettest.Protocol]packettest.Outcome{}
			for _, p := range transports {
				stays[p] = s.connect(t, p, farA)
			}
			for _, c := range []string{"10.1.2.5@node-b unready", "10.1.2.5@node-b terminating", "10.1.2.5@node-b gone"} {
				s.change(t, endpoints("web", c, farB8()))
				s.goesOn(t, stays[packettest.TCP], farA)
				s.goesOn(t, stays[packettest.SCTP], farA)
			}
			s.change(t, endpoints("web"))
			s.goesOn(t, stays[packettest.TCP], farA)
			s.remove(t, web())
			s.goesOn(t, stays[packettest.TCP], farA)
			s.goesOn(t, stays[packettest.SCTP], farA)
		}}},
	},
}

// countsAreFair connects often enough that a share that is off by a fifth would
// show: of 900 connections three equal endpoints get 300 each, with a standard
// deviation of 14; the bounds are six of them away.
func countsAreFair(t *testing.T, s *stage) {
	t.Helper()
	counts := map[string]int{}
	for range 900 {
		got := s.open(t, packettest.Probe{From: aPod, To: packettest.To(webIP), Proto: packettest.TCP})
		counts[got.To.String()]++
	}
	require.Len(t, counts, 3)
	for endpoint, n := range counts {
		require.InDelta(t, 300, n, 6*14.2, endpoint)
	}
}

// connect opens a connection of a pod to webIP that its endpoint answers.
func (s *stage) connect(t *testing.T, proto packettest.Protocol, endpoint string) packettest.Outcome {
	t.Helper()
	o := s.open(t, packettest.Probe{From: aPod, To: packettest.To(webIP), Proto: proto})
	require.Equal(t, s.addr(endpoint), o.To, "%v", o)
	require.Equal(t, packettest.Delivered, s.Reply(t, o).Kind)
	return o
}

// goesOn sends a later packet of a connection and wants it to reach an endpoint.
func (s *stage) goesOn(t *testing.T, o packettest.Outcome, endpoint string) {
	t.Helper()
	got := s.Again(t, o)
	require.Equal(t, packettest.Delivered, got.Kind, "%v", got)
	require.Equal(t, s.addr(endpoint), got.To, "%v", got)
}

// topologyRows are about section T. This node is in zone-1.
var topologyRows = []row{
	{
		shows: "T1", name: "hints count for policy Cluster, also for clients outside, and never for policy Local",
		given: objects(web(everyWay), service("near", at("10.96.0.11"), internalLocal),
			endpoints("web", "10.1.1.5@node-a zone=zone-1", "10.1.1.6@node-a zone=zone-2"), endpoints("near", "10.1.1.5@node-a zone=zone-1", "10.1.1.6@node-a zone=zone-2")),
		want: probes(
			from([]packettest.Source{aPod}, webIP, reaches(nearA)), from([]packettest.Source{aClient}, webVIP, reachesMasqueraded(nearA)),
			from([]packettest.Source{aPod}, "10.96.0.11:80", reaches(nearA, nearB)),
		),
	},
	{
		shows: "T1", name: "hints count for pods that are led past external policy Local",
		given: objects(web(externalLocal, vips(vip)), endpoints("web", "10.1.1.5@node-a zone=zone-2", "10.1.2.5@node-b zone=zone-1")),
		want:  probes(from([]packettest.Source{aPod}, webVIP, reaches(farA)), from([]packettest.Source{aClient}, webVIP, reaches(nearA))),
	},
	{
		shows: "T2", name: "hints for nodes come before hints for zones, and only ready endpoints are asked for theirs",
		given: objects(web(), endpoints("web", "10.1.1.5@node-a node=node-a zone=zone-2", "10.1.2.5@node-b node=node-b zone=zone-1", "10.1.3.5@node-c terminating")),
		want:  from(anyone[:1], webIP, reaches(nearA)),
		then: []step{{
			when:   "no hint names this node",
			change: objects(endpoints("web", "10.1.1.5@node-a node=node-b zone=zone-2", "10.1.2.5@node-b node=node-b zone=zone-1")),
			want:   from(anyone[:1], webIP, reaches(farA)),
		}},
	},
	{
		shows: "T3", name: "endpoints hinted for this zone get everything",
		given: objects(web(), endpoints("web", "10.1.1.5@node-a zone=zone-2", "10.1.2.5@node-b zone=zone-1 zone=zone-3", "10.1.3.5@node-c zone=zone-3")),
		want:  from(anyone[:1], webIP, reaches(farA)),
	},
	{
		shows: "T4", name: "one ready endpoint without a hint, or none for this zone, and all are used",
		given: objects(web(), endpoints("web", "10.1.2.5@node-b zone=zone-1", "10.1.3.5@node-c")),
		want:  from(anyone[:1], webIP, reaches(farA, farB)),
		then: []step{
			{when: "no hint is for this zone", change: objects(endpoints("web", "10.1.2.5@node-b zone=zone-2", "10.1.3.5@node-c zone=zone-3")), want: from(anyone[:1], webIP, reaches(farA, farB))},
			{when: "this node has no zone", change: objects(node("node-a", "", "192.0.2.11", "10.1.1.0/24"), endpoints("web", "10.1.2.5@node-b zone=zone-1", "10.1.3.5@node-c zone=zone-3")), want: from(anyone[:1], webIP, reaches(farA, farB))},
			{when: "hints for nodes need no zone", change: objects(endpoints("web", "10.1.2.5@node-b node=node-a", "10.1.3.5@node-c node=node-c")), want: from(anyone[:1], webIP, reaches(farA))},
		},
	},
	{
		shows: "T5", name: "trafficDistribution and the topology annotation without hints change nothing",
		given: objects(web(annotated("service.kubernetes.io/topology-mode", "Auto"), preferring("PreferSameNode")), endpoints("web", nearA8(), farA8())),
		want:  from(anyone[:1], webIP, reaches(nearA, farA)),
		then: []step{{
			when: "hints without trafficDistribution count", change: objects(web(), endpoints("web", "10.1.1.5@node-a zone=zone-2", "10.1.2.5@node-b zone=zone-1")),
			want: from(anyone[:1], webIP, reaches(farA)),
		}},
	},
	{
		shows: "T6", name: "a zone that the node gets, changes and loses counts at once",
		given: objects(node("node-a", "", "192.0.2.11", "10.1.1.0/24"), web(), endpoints("web", "10.1.1.5@node-a zone=zone-1", "10.1.2.5@node-b zone=zone-2")),
		want:  from(anyone[:1], webIP, reaches(nearA, farA)),
		then: []step{
			{when: "in zone-1", change: objects(nodeA()), want: from(anyone[:1], webIP, reaches(nearA))},
			{when: "in zone-2", change: objects(node("node-a", "zone-2", "192.0.2.11", "10.1.1.0/24")), want: from(anyone[:1], webIP, reaches(farA))},
			{when: "without a zone", change: objects(node("node-a", "", "192.0.2.11", "10.1.1.0/24")), want: from(anyone[:1], webIP, reaches(nearA, farA))},
		},
	},
}

// policyRows are about section P: traffic policies and who is led past them.
var policyRows = []row{
	{
		shows: "P1 M4 M12", name: "under external policy Cluster everyone reaches all endpoints at every external address, masqueraded",
		given: objects(web(everyWay), endpoints("web", nearA8(), farA8())),
		want: probes(
			from(anyone, webVIP, reachesMasqueraded(nearA, farA)), from(anyone, webExtIP, reachesMasqueraded(nearA, farA)),
			from(anyone, atNode, reachesMasqueraded(nearA, farA)),
		),
	},
	{
		shows: "P2 M7", name: "under external policy Local clients outside reach local endpoints as themselves, or nothing",
		given: objects(web(externalLocal, everyWay), endpoints("web", nearA8(), farA8())),
		want: probes(from([]packettest.Source{aClient}, webVIP, reaches(nearA)), from([]packettest.Source{aClient}, webExtIP, reaches(nearA)),
			from([]packettest.Source{aClient}, atNode, reaches(nearA))),
		then: []step{{when: "the local endpoint is gone", change: objects(endpoints("web", farA8())), want: probes(
			from([]packettest.Source{aClient}, webVIP, dropped), from([]packettest.Source{aClient}, webExtIP, dropped), from([]packettest.Source{aClient}, atNode, dropped))}},
	},
	{
		shows: "P3 M5", name: "pods reach all endpoints past external policy Local, as themselves",
		given: objects(web(externalLocal, internalLocal, everyWay), endpoints("web", nearA8(), farA8())),
		want: probes(from([]packettest.Source{aPod, farPod}, webVIP, reaches(nearA, farA)), from([]packettest.Source{aPod, farPod}, webExtIP, reaches(nearA, farA)),
			from([]packettest.Source{aPod}, atNode, reaches(nearA, farA))),
	},
	{
		shows: "P4 M6", name: "the node reaches all endpoints past external policy Local, masqueraded",
		given: objects(web(externalLocal, internalLocal, everyWay), endpoints("web", nearA8(), farA8())),
		want: probes(from([]packettest.Source{theNode}, webVIP, reachesMasqueraded(nearA, farA)), from([]packettest.Source{theNode}, webExtIP, reachesMasqueraded(nearA, farA)),
			from([]packettest.Source{theNode}, atNode, reachesMasqueraded(nearA, farA))),
	},
	{
		shows: "P5 D2", name: "pods and the node reach other nodes' endpoints although this node has none; clients outside meet silence",
		given: objects(web(externalLocal, everyWay), endpoints("web", farA8())),
		want: probes(
			from([]packettest.Source{aPod}, webVIP, reaches(farA)), from([]packettest.Source{aPod}, atNode, reaches(farA)),
			from([]packettest.Source{theNode}, webVIP, reachesMasqueraded(farA)), from([]packettest.Source{theNode}, atNode, reachesMasqueraded(farA)),
			from([]packettest.Source{aClient}, webVIP, dropped),
		),
	},
	{
		shows: "P7 L2", name: "where pods are not told apart they are clients outside",
		options: clusterCIDR(""),
		given:   objects(web(externalLocal, vips(vip)), endpoints("web", nearA8(), farA8())),
		want:    probes(from([]packettest.Source{aPod, aClient}, webVIP, reaches(nearA)), from([]packettest.Source{theNode}, webVIP, reachesMasqueraded(nearA, farA))),
	},
}

// clusterCIDR sets the ranges that tell pods; empty means none.
func clusterCIDR(prefix string) func(*agent.Options) {
	return func(o *agent.Options) {
		o.ClusterCIDRs = nil
		if prefix != "" {
			o.ClusterCIDRs = bothFamilies(prefix)
		}
	}
}
