package selector_test

import (
	"fmt"
	"net/netip"

	"github.com/nearside/nearside/selector"
)

// web is a service with one endpoint on each of two nodes, and one on the first
// that is on its way out.
var web = []selector.Endpoint{
	{Addr: netip.MustParseAddrPort("10.1.1.5:8080"), Node: "node-a", Ready: true, Serving: true},
	{Addr: netip.MustParseAddrPort("10.1.1.6:8080"), Node: "node-a", Serving: true, Terminating: true},
	{Addr: netip.MustParseAddrPort("10.1.2.5:8080"), Node: "node-b", Ready: true, Serving: true},
}

// A policy by its name, asked for a connection that starts on node-a.
func Example() {
	policy, ok := selector.Builtin("PreferLocal")
	if !ok {
		panic("no such policy")
	}
	sel := policy.Select(&selector.Request{
		Node:      selector.Node{Name: "node-a", Zone: "zone-1"},
		Endpoints: web,
	})
	for _, b := range sel.Backends {
		fmt.Println(b.Addr, "weight", b.Weight)
	}
	fmt.Println(sel.Scope, sel.Reason.Code, "-", sel.Reason.Text)
	// Output:
	// 10.1.1.5:8080 weight 1
	// node LocalReady - ready endpoints on this node are used
}

// firstOnly sends everything to one endpoint. It pays no regard to state or
// traffic policy, because Enforce does.
type firstOnly struct{}

func (firstOnly) Select(req *selector.Request) selector.Selection {
	if len(req.Endpoints) == 0 {
		return selector.Selection{}
	}
	return selector.Selection{
		Backends: []selector.Backend{{Addr: req.Endpoints[0].Addr, Weight: 1}},
		Reason:   selector.Reason{Code: "FirstOnly", Text: "the first endpoint takes it all"},
	}
}

// A selector of one's own is free where the Service leaves a choice. On node-b,
// traffic policy Local leaves none of node-a's endpoints.
func ExampleEnforce() {
	s := selector.Enforce(firstOnly{})
	req := selector.Request{Node: selector.Node{Name: "node-b"}, Endpoints: web}

	sel := s.Select(&req)
	fmt.Println(sel.Backends[0].Addr, sel.Reason.Code)

	req.Port.Internal = selector.PolicyLocal
	sel = s.Select(&req)
	fmt.Println(sel.Backends[0].Addr, sel.Reason.Code)
	fmt.Println(sel.Reason.Text)
	// Output:
	// 10.1.1.5:8080 FirstOnly
	// 10.1.2.5:8080 SelectorViolation
	// the selector chose 10.1.1.5:8080, which is not on this node although the traffic policy is Local, so policy Local applies
}

// Why each endpoint was chosen or not, as a table would show it.
func ExampleExplain() {
	req := selector.Request{
		Port:      selector.ServicePort{Internal: selector.PolicyLocal},
		Node:      selector.Node{Name: "node-a"},
		Endpoints: web,
	}
	for _, x := range selector.Explain(&req, selector.Cluster{}.Select(&req)) {
		fmt.Printf("%v %-11s weight %d: %s\n", x.Addr, x.State, x.Weight, x.Why)
	}
	// Output:
	// 10.1.1.5:8080 ready       weight 1: ready, on this node
	// 10.1.1.6:8080 terminating weight 0: terminating, and ready endpoints exist on this node
	// 10.1.2.5:8080 ready       weight 0: on another node, and internalTrafficPolicy is Local
}

// Two ready endpoints are plenty for three nodes, and too few for four.
func ExampleLocalIfPlenty() {
	req := selector.Request{Node: selector.Node{Name: "node-a"}, Endpoints: web}
	for _, nodes := range []int{3, 4, 0} {
		req.Nodes = nodes
		sel := selector.LocalIfPlenty{}.Select(&req)
		fmt.Println(nodes, "nodes:", len(sel.Backends), "backends,", sel.Reason.Code)
	}
	// Output:
	// 3 nodes: 1 backends, PlentyLocal
	// 4 nodes: 2 backends, TooFewEndpoints
	// 0 nodes: 2 backends, NodesUnknown
}
