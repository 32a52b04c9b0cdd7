package semantics

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/agent"
	"github.com/nearside/nearside/internal/packettest"
)

const (
	kubernetesIssues = "https://github.com/kubernetes/kubernetes/issues/"
	kubernetesPulls  = "https://github.com/kubernetes/kubernetes/pull/"
)

// policyCases are about traffic policies, topology and addresses.
var policyCases = []reportedCase{
	{
		number: "001", url: kubernetesIssues + "55429",
		says: "Affinity holds under external policy Local: one client stays with one of the local endpoints, clients are spread over them.",
		rows: []row{{
			name:  "clients of a node port under policy Local stick to local endpoints",
			given: objects(web(nodePort, externalLocal, sticky(600)), endpoints("web", nearA8(), nearB8(), "10.1.1.7@node-a", farA8())),
			then: []step{{when: "for many clients", act: func(t *testing.T, s *stage) {
				t.Helper()
				used := map[string]bool{}
				local := []string{s.addr(nearA).String(), s.addr(nearB).String(), s.addr("10.1.1.7:8080").String()}
				for _, last := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "20"} {
					client := packettest.Outside("203.0.113." + last)
					first := s.open(t, packettest.Probe{From: client, To: packettest.To(atNode), Proto: packettest.TCP})
					require.False(t, first.Masqueraded, "%v", first)
					require.Contains(t, local, first.To.String())
					used[first.To.String()] = true
					for range 30 {
						require.Equal(t, first.To.String(), s.where(t, client, atNode))
					}
				}
				require.Greater(t, len(used), 1)
			}}},
		}},
	},
	{
		number: "004", url: kubernetesIssues + "131765",
		says: "Pods and the node reach a load balancer's address under policy Local although this node has no endpoint.",
		rows: []row{{
			name:  "a load balancer's address under policy Local without a local endpoint is for pods and the node",
			given: objects(web(nodePort, vips(vip), externalLocal), endpoints("web", farA8())),
			want: probes(from(sources(aPod), webVIP, reaches(farA)), from(sources(theNode), webVIP, reachesMasqueraded(farA)),
				from(sources(aClient), webVIP, dropped), from(sources(aClient), atNode, dropped)),
		}},
	},
	{
		number: "007", url: kubernetesIssues + "105470",
		says: "Internal policy Local does not narrow what a node port reaches.",
		rows: []row{{
			name:  "a node port reaches all endpoints while the ClusterIP reaches local ones",
			given: objects(web(nodePort, internalLocal), endpoints("web", nearA8(), farA8())),
			want:  probes(from(sources(aClient), atNode, reachesMasqueraded(nearA, farA)), from(sources(aPod), webIP, reaches(nearA))),
			then: []step{{when: "the local endpoint is gone", change: objects(endpoints("web", farA8())),
				want: probes(from(sources(aClient), atNode, reachesMasqueraded(farA)), from(sources(aPod), webIP, dropped))}},
		}},
	},
	{
		number: "009", url: "https://github.com/cilium/cilium/issues/41022",
		says: "A zone without endpoints is served by all zones.",
		rows: []row{{
			name:  "a zone gets and loses its only endpoint",
			given: objects(web(preferring("PreferClose")), endpoints("web", "10.1.2.5@node-b zone=zone-2", "10.1.3.5@node-c zone=zone-3")),
			want:  from(sources(aPod), webIP, reaches(farA, farB)),
			then: []step{
				{when: "with one", change: objects(endpoints("web", "10.1.1.5@node-a zone=zone-1", "10.1.2.5@node-b zone=zone-2", "10.1.3.5@node-c zone=zone-3")), want: from(sources(aPod), webIP, reaches(nearA))},
				{when: "without", change: objects(endpoints("web", "10.1.2.5@node-b zone=zone-2", "10.1.3.5@node-c zone=zone-3")), want: from(sources(aPod), webIP, reaches(farA, farB))},
			},
		}},
	},
	{
		number: "012", url: "https://github.com/cilium/cilium/pull/46339",
		says: "A terminating endpoint of this node gets nothing while another node has a ready one.",
		rows: []row{{
			name: "ready comes before near, and near before far",
			given: objects(web(preferring("PreferSameNode")), endpoints("web",
				"10.1.1.5@node-a node=node-a zone=zone-1", "10.1.1.6@node-a terminating node=node-a zone=zone-1", "10.1.2.5@node-b node=node-b zone=zone-2")),
			want: from(sources(aPod), webIP, reaches(nearA)),
			then: []step{{when: "both near ones terminate", change: objects(endpoints("web",
				"10.1.1.5@node-a terminating node=node-a zone=zone-1", "10.1.1.6@node-a terminating node=node-a zone=zone-1", "10.1.2.5@node-b node=node-b zone=zone-2")),
				want: from(sources(aPod), webIP, reaches(farA))}},
		}},
	},
	{
		number: "013", url: kubernetesPulls + "117245",
		says: "A zone label that comes late, changes or goes counts at once.", elsewhere: []string{"informer.TestCase013ZoneLabelArrivesLater"},
		rows: []row{{
			name:  "the zone label comes late, changes and goes",
			given: objects(node("node-a", "", "192.0.2.11", "10.1.1.0/24"), web(preferring("PreferClose")), endpoints("web", "10.1.1.5@node-a zone=zone-1", "10.1.2.5@node-b zone=zone-2")),
			want:  from(sources(aPod), webIP, reaches(nearA, farA)),
			then: []step{
				{when: "zone-1", change: objects(nodeA()), want: from(sources(aPod), webIP, reaches(nearA))},
				{when: "zone-2", change: objects(node("node-a", "zone-2", "192.0.2.11", "10.1.1.0/24")), want: from(sources(aPod), webIP, reaches(farA))},
				{when: "none", change: objects(node("node-a", "", "192.0.2.11", "10.1.1.0/24")), want: from(sources(aPod), webIP, reaches(nearA, farA))},
			},
		}},
	},
	{
		number: "024", url: kubernetesIssues + "104755",
		says: "SCTP keeps the client's address under policy Local as TCP does.",
		rows: []row{{
			name:  "a node port of SCTP and TCP under policy Local keeps the client's address",
			given: objects(web(nodePort, externalLocal), endpoints("web", nearA8())),
			want:  from(sources(aClient), atNode, reaches(nearA)),
		}},
	},
	{
		number: "027", url: kubernetesIssues + "111863",
		says: "Node ports are not reached through a load balancer's address. Medium confidence in the report; D5 and N1 say the same.",
		rows: []row{{
			name:  "the number of a node port means nothing at a load balancer's address",
			given: objects(web(nodePort, vips(vip)), endpoints("web", farA8())),
			want: probes(from(sources(aClient), "198.51.100.80:30080", untouched), from(sources(aClient), webVIP, reachesMasqueraded(farA)),
				from(sources(aClient), atNode, reachesMasqueraded(farA))),
			then: []step{{when: "at localhost", act: loopbackIsLeftAlone}},
		}},
	},
	{
		number: "028", url: kubernetesIssues + "119656",
		says: "Source ranges hold back connections of the node itself. Medium confidence in the report; LB2 says the same.",
		rows: []row{{
			name:  "source ranges hold for the node, and change",
			given: objects(web(nodePort, vips(vip), sourceRanges("203.0.113.0/24")), endpoints("web", nearA8(), farA8())),
			want: probes(from(sources(aClient), webVIP, reachesMasqueraded(nearA, farA)), from(sources(packettest.Outside("203.0.114.200"), theNode), webVIP, dropped),
				from(sources(aPod), webIP, reaches(nearA, farA))),
			then: []step{
				{when: "another range", change: objects(web(nodePort, vips(vip), sourceRanges("203.0.114.0/24"))),
					want: probes(from(sources(aClient, theNode), webVIP, dropped), from(sources(packettest.Outside("203.0.114.200")), webVIP, reachesMasqueraded(nearA, farA)))},
				{when: "no range", change: objects(web(nodePort, vips(vip))), want: from(sources(aClient, theNode), webVIP, reachesMasqueraded(nearA, farA))},
			},
		}},
	},
	{
		number: "030", url: "https://github.com/cilium/cilium/issues/40913",
		says: "An address with ipMode Proxy is not served, and the mode may change.",
		rows: []row{{
			name:  "ipMode changes from Proxy to VIP and back",
			given: objects(proxied("Proxy"), endpoints("web", nearA8(), farA8())),
			want: probes(from(sources(aPod, aClient), webVIP, untouched), from(sources(aPod), "198.51.100.81:80", reachesMasqueraded(nearA, farA)),
				from(sources(aClient), atNode, reachesMasqueraded(nearA, farA))),
			then: []step{
				{when: "VIP", change: objects(proxied("VIP")), want: from(sources(aPod, aClient), webVIP, reachesMasqueraded(nearA, farA))},
				{when: "Proxy", change: objects(proxied("Proxy")), want: from(sources(aPod, aClient), webVIP, untouched)},
			},
		}},
	},
	{
		number: "031", url: "https://github.com/cloudnativelabs/kube-router/issues/1235",
		says: "A pod that is the endpoint chosen for it reaches itself.",
		rows: []row{{
			name:  "a pod meets itself and gets an answer",
			given: objects(web(), endpoints("web", nearA8())),
			want:  from(sources(packettest.Pod(nearAPod)), webIP, reachesMasqueraded(nearA)),
			then: []step{
				{when: "it answers", act: func(t *testing.T, s *stage) {
					t.Helper()
					o := s.open(t, packettest.Probe{From: packettest.Pod(nearAPod), To: packettest.To(webIP), Proto: packettest.TCP})
					require.Equal(t, packettest.Delivered, s.Reply(t, o).Kind)
				}},
				{when: "with another endpoint", change: objects(endpoints("web", nearA8(), farA8())), want: []probe{{
					from: packettest.Pod(nearAPod), to: webIP, want: append(reachesMasqueraded(nearA), reaches(farA)...),
				}}},
			},
		}},
	},
	{
		number: "034", url: kubernetesIssues + "44916",
		says: "What dials a node port under policy Cluster and leaves for another node is masqueraded, pods of other nodes too.",
		rows: []row{{
			name:    "a pod of another node dials this node's port, whose endpoint is on a third one",
			options: func(o *agent.Options) { o.NodeName = "node-b" },
			given: objects(node("node-a", "zone-1", "192.0.2.21", "10.1.2.0/24"), node("node-b", "zone-2", "192.0.2.11", "10.1.1.0/24"),
				web(nodePort), endpoints("web", farB8())),
			want: from(sources(farPod, aClient), atNode, reachesMasqueraded(farB)),
		}},
	},
	{
		number: "046", url: kubernetesIssues + "44311",
		says:      "The health check says no as soon as this node has no ready endpoint.",
		elsewhere: []string{"health.TestHealthCheckFollowsTheLastLocalEndpoint"},
	},
	{
		number: "071", url: kubernetesIssues + "17359",
		says: "Without a usable endpoint clients are refused at every address.",
		rows: []row{{
			name:  "refused without endpoints, without a slice and without a ready endpoint",
			given: objects(web(everyWay), endpoints("web")),
			want:  refusedEverywhere,
			then: []step{
				{when: "no slice", remove: objects(endpoints("web")), want: refusedEverywhere},
				{when: "an endpoint", change: objects(endpoints("web", nearA8())), want: probes(from(sources(aPod), webIP, reaches(nearA)),
					from(sources(theNode), webIP, reachesMasqueraded(nearA)), from(sources(aClient), webVIP, reachesMasqueraded(nearA)),
					from(sources(aClient), webExtIP, reachesMasqueraded(nearA)), from(sources(aClient), atNode, reachesMasqueraded(nearA)),
					from(sources(aPod), "10.96.0.10:81", refused))},
				{when: "it is not ready", change: objects(endpoints("web", "10.1.1.5@node-a unready")), want: refusedEverywhere},
			},
		}},
	},
}

var refusedEverywhere = probes(from(sources(aPod, theNode), webIP, refused), from(sources(aClient), webVIP, refused),
	from(sources(aClient), webExtIP, refused), from(sources(aClient), atNode, refused), from(sources(aPod), "10.96.0.10:81", refused))
