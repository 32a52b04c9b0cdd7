package demo

import (
	"net/netip"
	"slices"

	"github.com/nearside/nearside/internal/netlab"
)

// scenario is the cluster of the demo.
//
// It is laid out so that the policies differ. shop/cart has plenty of endpoints
// for its cluster, but none on node-c; shop/stock has few, and one is on
// node-c.
type scenario struct {
	zones    []netlab.Zone
	pods     []pod
	services []service
	// idle are nodes that exist as Node objects only.
	idle []string
}

// pod is an endpoint or a client.
type pod struct {
	name, node string
	// service is what the pod is an endpoint of; empty for a client.
	service string
	// spare pods are no endpoint at the beginning.
	spare bool
}

// service is a Service of the demo; all are in one namespace and have one port.
type service struct {
	name string
	// dialled is its ClusterIP and port.
	dialled netip.AddrPort
}

const (
	namespace   = "shop"
	backendPort = 8080
	// leaving is the pod that goes away in the last scene, replacement the one
	// that then takes its place.
	leaving, replacement = "cart-1", "cart-4"
)

func theScenario() *scenario {
	sc := &scenario{
		pods: []pod{
			{name: "client-a", node: "node-a"},
			{name: "client-b", node: "node-b"},
			{name: "client-c", node: "node-c"},
			{name: leaving, node: "node-a", service: "cart"},
			{name: "cart-2", node: "node-b", service: "cart"},
			{name: "cart-3", node: "node-b", service: "cart"},
			{name: replacement, node: "node-a", service: "cart", spare: true},
			{name: "stock-1", node: "node-a", service: "stock"},
			{name: "stock-2", node: "node-c", service: "stock"},
		},
		services: []service{
			{name: "cart", dialled: netip.MustParseAddrPort("10.96.0.10:80")},
			{name: "stock", dialled: netip.MustParseAddrPort("10.96.0.20:80")},
		},
		idle: []string{"control-1"},
	}
	sc.zones = []netlab.Zone{
		{Name: "zone-1", Nodes: []netlab.Node{sc.plan("node-a"), sc.plan("node-b")}},
		{Name: "zone-2", Nodes: []netlab.Node{sc.plan("node-c")}},
	}
	return sc
}

func (sc *scenario) plan(node string) netlab.Node {
	n := netlab.Node{Name: node}
	for _, p := range sc.pods {
		if p.node == node {
			n.Pods = append(n.Pods, p.name)
		}
	}
	return n
}

// nodes returns the names of the nodes that are built.
func (sc *scenario) nodes() (names []string) {
	for _, z := range sc.zones {
		for _, n := range z.Nodes {
			names = append(names, n.Name)
		}
	}
	return names
}

// zone returns the zone of a node.
func (sc *scenario) zone(node string) string {
	for _, z := range sc.zones {
		if slices.ContainsFunc(z.Nodes, func(n netlab.Node) bool { return n.Name == node }) {
			return z.Name
		}
	}
	return ""
}

// pod returns the pod of that name, a nameless one if there is none.
func (sc *scenario) pod(name string) pod {
	i := slices.IndexFunc(sc.pods, func(p pod) bool { return p.name == name })
	if i < 0 {
		return pod{}
	}
	return sc.pods[i]
}

// service returns the service of that name.
func (sc *scenario) service(name string) service {
	return sc.services[slices.IndexFunc(sc.services, func(s service) bool { return s.name == name })]
}

// client returns the client pod of a node.
func (sc *scenario) client(node string) pod {
	i := slices.IndexFunc(sc.pods, func(p pod) bool { return p.node == node && p.service == "" })
	return sc.pods[i]
}

// endpoints returns the pods of a service that are endpoints from the beginning.
func (sc *scenario) endpoints(service string) (pods []pod) {
	for _, p := range sc.pods {
		if p.service == service && !p.spare {
			pods = append(pods, p)
		}
	}
	return pods
}

// condition is the state of an endpoint in its EndpointSlice.
type condition int

const (
	ready condition = iota
	terminating
	absent
)

// conditions holds the state of each pod that is or may be an endpoint.
type conditions map[string]condition

// start returns the conditions at the beginning.
func (sc *scenario) start() conditions {
	c := make(conditions)
	for _, p := range sc.pods {
		switch {
		case p.spare:
			c[p.name] = absent
		case p.service != "":
			c[p.name] = ready
		}
	}
	return c
}
