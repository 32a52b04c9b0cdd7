package selector_test

import (
	"net/netip"
	"strings"

	"github.com/nearside/nearside/selector"
)

// The requests of the tests are made on node-a in zone-1, in a cluster of three
// nodes: node-a and node-b in zone-1, node-c in zone-2.
var nodeA = selector.Node{Name: "node-a", Zone: "zone-1"}

var zoneOf = map[string]string{"node-a": "zone-1", "node-b": "zone-1", "node-c": "zone-2"}

// addr returns the address with the port that all endpoints of the tests have.
func addr(ip string) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr(ip), 8080)
}

// edit changes an endpoint that is being made.
type edit func(*selector.Endpoint)

func forZones(zones ...string) edit {
	return func(e *selector.Endpoint) { e.HintZones = zones }
}

func forNodes(nodes ...string) edit {
	return func(e *selector.Endpoint) { e.HintNodes = nodes }
}

func endpoint(ip, node string, edits []edit) selector.Endpoint {
	e := selector.Endpoint{Addr: addr(ip), Node: node, Zone: zoneOf[node]}
	for _, change := range edits {
		change(&e)
	}
	return e
}

// ready is an endpoint in good health.
func ready(ip, node string, edits ...edit) selector.Endpoint {
	e := endpoint(ip, node, edits)
	e.Ready, e.Serving = true, true
	return e
}

// draining is on its way out and still serving.
func draining(ip, node string, edits ...edit) selector.Endpoint {
	e := endpoint(ip, node, edits)
	e.Serving, e.Terminating = true, true
	return e
}

// gone is on its way out and serves no more.
func gone(ip, node string, edits ...edit) selector.Endpoint {
	e := endpoint(ip, node, edits)
	e.Terminating = true
	return e
}

// unready does not pass its readiness probe.
func unready(ip, node string, edits ...edit) selector.Endpoint {
	return endpoint(ip, node, edits)
}

// published is said to be ready whatever its state (publishNotReadyAddresses),
// here while it is on its way out.
func published(ip, node string, edits ...edit) selector.Endpoint {
	e := endpoint(ip, node, edits)
	e.Ready, e.Terminating = true, true
	return e
}

// request is internal traffic under policy Cluster to the endpoints.
func request(eps ...selector.Endpoint) selector.Request {
	return selector.Request{
		Port:      selector.ServicePort{Namespace: "demo", Service: "web", Name: "http", Protocol: "TCP"},
		Node:      nodeA,
		Nodes:     3,
		Endpoints: eps,
	}
}

// localOnly is internal traffic under policy Local to the endpoints.
func localOnly(eps ...selector.Endpoint) selector.Request {
	req := request(eps...)
	req.Port.Internal = selector.PolicyLocal
	return req
}

// with changes a request that is being made.
func with(req selector.Request, change func(*selector.Request)) selector.Request {
	change(&req)
	return req
}

// addrs lists the addresses of backends, without the port that all share.
func addrs(backends []selector.Backend) string {
	var ips []string
	for _, b := range backends {
		ips = append(ips, b.Addr.Addr().String())
	}
	return strings.Join(ips, " ")
}
