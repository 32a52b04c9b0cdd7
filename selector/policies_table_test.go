package selector_test

import (
	"slices"

	. "github.com/nearside/nearside/selector" //nolint:revive // a table reads better without a prefix on every word
)

// tableRows are the rows of TestPolicies, grouped by statement.
func tableRows() []row {
	return slices.Concat(endpointRows(), readinessRows(), topologyRows(), policyRows())
}

func endpointRows() []row {
	return []row{
		{
			statement: "E3", name: "an endpoint published as ready counts as ready even while it is terminating",
			given: request(published("10.1.1.1", "node-a"), draining("10.1.2.1", "node-b")),
			want: each(cluster("10.1.1.1", AllReady), node("10.1.1.1", LocalReady),
				node("10.1.1.1", LocalReady), wider(cluster("10.1.1.1", TooFewEndpoints))),
		},
		{
			statement: "E4", name: "an endpoint without a node is not local",
			given: request(ready("10.1.1.1", "")),
			want: each(cluster("10.1.1.1", AllReady), dropped,
				wider(cluster("10.1.1.1", NoLocalReady)), wider(cluster("10.1.1.1", NoLocalReady))),
		},
		{
			statement: "E4", name: "an endpoint without a node is not local to a node without a name",
			given: with(request(ready("10.1.1.1", "")), func(r *Request) { r.Node = Node{} }),
			want: each(cluster("10.1.1.1", AllReady), dropped,
				wider(cluster("10.1.1.1", NoLocalReady)), wider(cluster("10.1.1.1", NoLocalReady))),
		},
		{
			statement: "E5", name: "of two records of an address the one that is not terminating counts, when it is last",
			given: request(gone("10.1.1.1", "node-b"), ready("10.1.1.1", "node-a")),
			want: each(cluster("10.1.1.1", AllReady), node("10.1.1.1", LocalReady),
				node("10.1.1.1", LocalReady), wider(cluster("10.1.1.1", TooFewEndpoints))),
		},
		{
			statement: "E5", name: "of two records of an address the one that is not terminating counts, when it is first",
			given: request(ready("10.1.1.1", "node-c"), draining("10.1.1.1", "node-a")),
			want: each(cluster("10.1.1.1", AllReady), dropped,
				wider(cluster("10.1.1.1", NoLocalReady)), wider(cluster("10.1.1.1", NoLocalReady))),
		},
		{
			statement: "E5", name: "an address that a new pod took over is not used until that pod is ready",
			given: request(draining("10.1.1.1", "node-a"), unready("10.1.1.1", "node-a")),
			want:  each(rejected, rejectedLocal, wider(rejected), wider(rejected)),
		},
	}
}

func readinessRows() []row {
	return []row{
		{
			statement: "R1", name: "a ready endpoint anywhere keeps terminating ones out",
			given: request(draining("10.1.1.1", "node-a"), draining("10.1.2.1", "node-b"), ready("10.1.3.1", "node-c")),
			want: each(cluster("10.1.3.1", AllReady), wider(node("10.1.1.1", LocalTerminating)),
				wider(cluster("10.1.3.1", NoLocalReady)), wider(cluster("10.1.3.1", NoLocalReady))),
		},
		{
			statement: "R1", name: "with no ready endpoint all terminating ones serve, wherever they are and whatever their hints",
			given: request(draining("10.1.1.1", "node-a", forZones("zone-1")), unready("10.1.2.1", "node-b"),
				draining("10.1.3.1", "node-c", forZones("zone-2"), forNodes("node-c"))),
			want: each(wider(cluster("10.1.1.1 10.1.3.1", TerminatingOnly)), wider(node("10.1.1.1", LocalTerminating)),
				wider(cluster("10.1.1.1 10.1.3.1", TerminatingOnly)), wider(cluster("10.1.1.1 10.1.3.1", TerminatingOnly))),
		},
		{
			statement: "R2", name: "under policy Local this node's terminating endpoints serve while other nodes have ready ones",
			given: localOnly(draining("10.1.1.1", "node-a"), draining("10.1.1.2", "node-a"), ready("10.1.2.1", "node-b")),
			want:  all(wider(node("10.1.1.1 10.1.1.2", LocalTerminating))),
		},
		{
			statement: "R2", name: "under policy Local a ready endpoint on this node keeps its terminating ones out",
			given: localOnly(draining("10.1.1.1", "node-a"), ready("10.1.1.2", "node-a"), ready("10.1.2.1", "node-b")),
			want:  all(node("10.1.1.2", LocalReady)),
		},
		{
			statement: "R3", name: "neither an unready endpoint nor one that serves no more gets traffic, even as the last",
			given: request(unready("10.1.1.1", "node-a"), gone("10.1.1.2", "node-a"), gone("10.1.2.1", "node-b")),
			want:  each(rejected, rejectedLocal, wider(rejected), wider(rejected)),
		},
		{
			statement: "R3", name: "an unready local endpoint does not stand in for a ready remote one",
			given: request(unready("10.1.1.1", "node-a"), gone("10.1.1.2", "node-a"), ready("10.1.2.1", "node-b")),
			want: each(cluster("10.1.2.1", AllReady), dropped,
				wider(cluster("10.1.2.1", NoLocalReady)), wider(cluster("10.1.2.1", NoLocalReady))),
		},
		{
			statement: "R4", name: "a ready endpoint on another node turns rejecting into dropping for a Local service",
			given: localOnly(unready("10.1.1.1", "node-a"), ready("10.1.2.1", "node-b")),
			want:  all(dropped),
		},
		{
			statement: "R4", name: "a terminating endpoint on another node turns rejecting into dropping as well",
			given: localOnly(gone("10.1.1.1", "node-a"), draining("10.1.2.1", "node-b")),
			want:  all(dropped),
		},
		{
			statement: "R4", name: "an unready endpoint on another node does not",
			given: localOnly(unready("10.1.2.1", "node-b"), gone("10.1.3.1", "node-c")),
			want:  all(rejectedLocal),
		},
		{
			statement: "R5", name: "internal traffic does not mind an external policy Local",
			given: with(request(ready("10.1.1.1", "node-a"), ready("10.1.2.1", "node-b")), func(r *Request) {
				r.Port.External = PolicyLocal
			}),
			want: each(cluster("10.1.1.1 10.1.2.1", AllReady), node("10.1.1.1", LocalReady),
				node("10.1.1.1", LocalReady), node("10.1.1.1", PlentyLocal)),
		},
		{
			statement: "R5", name: "external traffic does not mind an internal policy Local",
			given: with(localOnly(ready("10.1.1.1", "node-a"), ready("10.1.2.1", "node-b")), func(r *Request) {
				r.Traffic = External
			}),
			want: each(cluster("10.1.1.1 10.1.2.1", AllReady), node("10.1.1.1", LocalReady),
				node("10.1.1.1", LocalReady), node("10.1.1.1", PlentyLocal)),
		},
		{
			statement: "R6", name: "every usable endpoint gets an equal share, on whichever node and in either family",
			given: request(ready("10.1.1.1", "node-a"), ready("10.1.1.2", "node-a"), ready("10.1.3.1", "node-c"), ready("fd00:10::1", "node-b")),
			want: each(cluster("10.1.1.1 10.1.1.2 10.1.3.1 fd00:10::1", AllReady), node("10.1.1.1 10.1.1.2", LocalReady),
				node("10.1.1.1 10.1.1.2", LocalReady), node("10.1.1.1 10.1.1.2", PlentyLocal)),
		},
		{
			statement: "R6", name: "half as many endpoints as nodes are not plenty yet",
			given: with(request(ready("10.1.1.1", "node-a"), ready("10.1.3.1", "node-c")), func(r *Request) { r.Nodes = 4 }),
			want: each(cluster("10.1.1.1 10.1.3.1", AllReady), node("10.1.1.1", LocalReady),
				node("10.1.1.1", LocalReady), wider(cluster("10.1.1.1 10.1.3.1", TooFewEndpoints))),
		},
		{
			statement: "R6", name: "without a number of nodes nothing is plenty",
			given: with(request(ready("10.1.1.1", "node-a"), ready("10.1.3.1", "node-c")), func(r *Request) { r.Nodes = 0 }),
			want: each(cluster("10.1.1.1 10.1.3.1", AllReady), node("10.1.1.1", LocalReady),
				node("10.1.1.1", LocalReady), wider(cluster("10.1.1.1 10.1.3.1", NodesUnknown))),
		},
	}
}

func topologyRows() []row {
	return []row{
		{
			statement: "T1", name: "hints do not narrow a Local set",
			given: localOnly(ready("10.1.1.1", "node-a", forZones("zone-2"), forNodes("node-c")),
				ready("10.1.1.2", "node-a", forZones("zone-1"), forNodes("node-a"))),
			want: all(node("10.1.1.1 10.1.1.2", LocalReady)),
		},
		{
			statement: "T1", name: "external traffic under policy Cluster follows hints",
			given: with(request(ready("10.1.2.1", "node-b", forZones("zone-1")), ready("10.1.3.1", "node-c", forZones("zone-2"))),
				func(r *Request) { r.Traffic = External }),
			want: each(zone("10.1.2.1", ZoneHint), dropped,
				wider(zone("10.1.2.1", NoLocalReady)), wider(zone("10.1.2.1", NoLocalReady))),
		},
		{
			statement: "T2", name: "when all ready endpoints have node hints and one names this node, it alone is used",
			given: request(ready("10.1.1.1", "node-a", forNodes("node-a"), forZones("zone-1")),
				ready("10.1.1.2", "node-a", forNodes("node-b"), forZones("zone-1")),
				ready("10.1.2.1", "node-b", forNodes("node-b"), forZones("zone-1"))),
			want: each(node("10.1.1.1", NodeHint), node("10.1.1.1 10.1.1.2", LocalReady),
				node("10.1.1.1 10.1.1.2", LocalReady), node("10.1.1.1 10.1.1.2", PlentyLocal)),
		},
		{
			statement: "T2", name: "node hints of endpoints that are not ready do not count",
			given: request(draining("10.1.1.1", "node-a"), unready("10.1.1.2", "node-a"),
				ready("10.1.2.1", "node-b", forNodes("node-b", "node-a")), ready("10.1.3.1", "node-c", forNodes("node-c"))),
			want: each(node("10.1.2.1", NodeHint), wider(node("10.1.1.1", LocalTerminating)),
				wider(node("10.1.2.1", NoLocalReady)), wider(node("10.1.2.1", NoLocalReady))),
		},
		{
			statement: "T2", name: "a node without a zone still has node hints",
			given: with(request(ready("10.1.1.1", "node-a", forNodes("node-a")), ready("10.1.3.1", "node-c", forNodes("node-c"))),
				func(r *Request) { r.Node.Zone = "" }),
			want: each(node("10.1.1.1", NodeHint), node("10.1.1.1", LocalReady),
				node("10.1.1.1", LocalReady), node("10.1.1.1", PlentyLocal)),
		},
		{
			statement: "T2", name: "an empty hint does not name a node without a name",
			given: with(request(ready("10.1.1.1", "node-a", forNodes("")), ready("10.1.3.1", "node-c", forNodes("node-c"))),
				func(r *Request) { r.Node.Name = "" }),
			want: each(wider(cluster("10.1.1.1 10.1.3.1", HintsElsewhere)), dropped,
				wider(cluster("10.1.1.1 10.1.3.1", NoLocalReady)), wider(cluster("10.1.1.1 10.1.3.1", NoLocalReady))),
		},
		{
			statement: "T3", name: "when no node hint names this node, those for its zone decide",
			given: request(ready("10.1.2.1", "node-b", forNodes("node-b"), forZones("zone-1")),
				ready("10.1.3.1", "node-c", forNodes("node-c"), forZones("zone-2"))),
			want: each(wider(zone("10.1.2.1", ZoneHint)), dropped,
				wider(zone("10.1.2.1", NoLocalReady)), wider(zone("10.1.2.1", NoLocalReady))),
		},
		{
			statement: "T3", name: "when node hints are incomplete, those for the zone decide",
			given: request(ready("10.1.1.1", "node-a", forNodes("node-a"), forZones("zone-1")),
				ready("10.1.2.1", "node-b", forZones("zone-1")), ready("10.1.3.1", "node-c", forZones("zone-2"))),
			want: each(wider(zone("10.1.1.1 10.1.2.1", ZoneHint)), node("10.1.1.1", LocalReady),
				node("10.1.1.1", LocalReady), node("10.1.1.1", PlentyLocal)),
		},
		{
			statement: "T4", name: "one ready endpoint without a hint turns zone hints off",
			given: request(ready("10.1.1.1", "node-a", forZones("zone-1")), ready("10.1.2.1", "node-b"),
				ready("10.1.3.1", "node-c", forZones("zone-2"))),
			want: each(wider(cluster("10.1.1.1 10.1.2.1 10.1.3.1", HintsIncomplete)), node("10.1.1.1", LocalReady),
				node("10.1.1.1", LocalReady), node("10.1.1.1", PlentyLocal)),
		},
		{
			statement: "T4", name: "neither do node hints that name others and zone hints that one lacks count together",
			given: request(ready("10.1.2.1", "node-b", forNodes("node-b"), forZones("zone-1")),
				ready("10.1.3.1", "node-c", forNodes("node-c"))),
			want: each(wider(cluster("10.1.2.1 10.1.3.1", HintsIncomplete)), dropped,
				wider(cluster("10.1.2.1 10.1.3.1", NoLocalReady)), wider(cluster("10.1.2.1 10.1.3.1", NoLocalReady))),
		},
		{
			statement: "T4", name: "incomplete zone hints are the reason even where the node has no zone",
			given: with(request(ready("10.1.2.1", "node-b", forZones("zone-1")), ready("10.1.3.1", "node-c")),
				func(r *Request) { r.Node.Zone = "" }),
			want: each(wider(cluster("10.1.2.1 10.1.3.1", HintsIncomplete)), dropped,
				wider(cluster("10.1.2.1 10.1.3.1", NoLocalReady)), wider(cluster("10.1.2.1 10.1.3.1", NoLocalReady))),
		},
		{
			statement: "T4", name: "hints that name other zones only are not followed",
			given: request(ready("10.1.2.1", "node-b", forZones("zone-3")), ready("10.1.3.1", "node-c", forZones("zone-2"))),
			want: each(wider(cluster("10.1.2.1 10.1.3.1", HintsElsewhere)), dropped,
				wider(cluster("10.1.2.1 10.1.3.1", NoLocalReady)), wider(cluster("10.1.2.1 10.1.3.1", NoLocalReady))),
		},
		{
			statement: "T4", name: "a node without a zone has no zone hints",
			given: with(request(ready("10.1.2.1", "node-b", forZones("zone-1", "")), ready("10.1.3.1", "node-c", forZones("zone-2"))),
				func(r *Request) { r.Node.Zone = "" }),
			want: each(wider(cluster("10.1.2.1 10.1.3.1", NodeZoneUnknown)), dropped,
				wider(cluster("10.1.2.1 10.1.3.1", NoLocalReady)), wider(cluster("10.1.2.1 10.1.3.1", NoLocalReady))),
		},
		{
			statement: "T5", name: "trafficDistribution without hints changes nothing",
			given: with(request(ready("10.1.1.1", "node-a"), ready("10.1.3.1", "node-c")), func(r *Request) {
				r.Port.Distribution = "PreferSameNode"
			}),
			want: each(cluster("10.1.1.1 10.1.3.1", AllReady), node("10.1.1.1", LocalReady),
				node("10.1.1.1", LocalReady), node("10.1.1.1", PlentyLocal)),
		},
	}
}

func policyRows() []row {
	external := func(policy TrafficPolicy, eps ...Endpoint) Request {
		return with(request(eps...), func(r *Request) {
			r.Traffic, r.Port.External, r.Port.Internal = External, policy, PolicyLocal
		})
	}
	return []row{
		{
			statement: "P1", name: "external traffic under policy Cluster may go to any node",
			given: external(PolicyCluster, ready("10.1.2.1", "node-b"), ready("10.1.3.1", "node-c")),
			want: each(cluster("10.1.2.1 10.1.3.1", AllReady), dropped,
				wider(cluster("10.1.2.1 10.1.3.1", NoLocalReady)), wider(cluster("10.1.2.1 10.1.3.1", NoLocalReady))),
		},
		{
			statement: "P2", name: "external traffic under policy Local stays on the node",
			given: external(PolicyLocal, ready("10.1.1.1", "node-a"), ready("10.1.3.1", "node-c")),
			want:  all(node("10.1.1.1", LocalReady)),
		},
		{
			statement: "P2", name: "external traffic under policy Local is dropped where the node has no endpoint",
			given: external(PolicyLocal, ready("10.1.3.1", "node-c")),
			want:  all(dropped),
		},
		{
			statement: "P6", name: "internal traffic under policy Local stays on the node whatever the hints say",
			given: localOnly(ready("10.1.1.1", "node-a", forZones("zone-2")), ready("10.1.2.1", "node-b", forZones("zone-1"))),
			want:  all(node("10.1.1.1", LocalReady)),
		},
		{
			statement: "D1", name: "a service without any endpoint rejects",
			given: request(),
			want:  each(rejected, rejectedLocal, wider(rejected), wider(rejected)),
		},
		{
			statement: "D1", name: "a Local service without any endpoint rejects",
			given: localOnly(),
			want:  all(rejectedLocal),
		},
		{
			statement: "D2", name: "a Local service with endpoints on other nodes only drops",
			given: localOnly(ready("10.1.2.1", "node-b"), draining("10.1.3.1", "node-c")),
			want:  all(dropped),
		},
	}
}
