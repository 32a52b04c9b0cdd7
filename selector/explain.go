package selector

import (
	"fmt"
	"net/netip"
	"strings"
)

// Explanation says what a selection means for one endpoint.
type Explanation struct {
	// Addr, Node and Zone are those of the endpoint.
	Addr netip.AddrPort `json:"addr"`
	Node string         `json:"node,omitempty"`
	Zone string         `json:"zone,omitempty"`
	// State is the endpoint's state in a word or two.
	State State `json:"state"`
	// Chosen tells whether the endpoint gets new connections, and Weight its
	// share of them; Weight is 0 for an endpoint that was not chosen.
	Chosen bool `json:"chosen"`
	Weight int  `json:"weight"`
	// Why is a phrase for people that says why the endpoint was chosen or not.
	Why string `json:"why"`
}

// State is the state of an endpoint in a word or two.
type State string

// The states of an endpoint.
const (
	// StateReady: it may get traffic.
	StateReady State = "ready"
	// StateTerminating: it is on its way out and still serving. It may get
	// traffic where nothing is ready.
	StateTerminating State = "terminating"
	// StateNotServing: it is on its way out and serves no more.
	StateNotServing State = "not serving"
	// StateNotReady: it is not ready, and not on its way out either.
	StateNotReady State = "not ready"
)

// State returns the endpoint's state. An endpoint that is published as ready is
// ready even while it is terminating.
func (e *Endpoint) State() State {
	switch {
	case e.Ready:
		return StateReady
	case e.Draining():
		return StateTerminating
	case e.Terminating:
		return StateNotServing
	}
	return StateNotReady
}

// Explain returns one explanation for each endpoint of req, in the order of
// their addresses, each address once. sel must be an answer to req; of a
// built-in policy it always knows the reason, of others what it can tell from
// the answer.
func Explain(req *Request, sel Selection) []Explanation {
	c := candidatesOf(req)
	backends := backendsInOrder(sel.Backends)
	n := narrator{rule: ruleFor(&c, req.Policy()), sel: &sel, traffic: req.Traffic}
	out := make([]Explanation, 0, len(c.list))
	next := 0
	for i := range c.list {
		e := &c.list[i]
		x := Explanation{Addr: e.Addr, Node: e.Node, Zone: e.Zone, State: e.State()}
		for next < len(backends) && backends[next].Addr.Compare(e.Addr) < 0 {
			next++
		}
		if next < len(backends) && backends[next].Addr == e.Addr {
			x.Chosen, x.Weight, x.Why = true, backends[next].Weight, n.whyChosen(e)
		} else {
			x.Why = n.whyNot(e)
		}
		out = append(out, x)
	}
	return out
}

// narrator finds the phrase for an endpoint.
type narrator struct {
	rule
	sel     *Selection
	traffic Traffic
}

// whyChosen follows how the selection came about, narrowest circle first.
func (n *narrator) whyChosen(e *Endpoint) string {
	switch {
	case !e.Ready && n.stayed():
		return "terminating but still serving, and no endpoint on this node is ready"
	case !e.Ready:
		return "terminating but still serving, and no endpoint is ready"
	case n.stayed():
		return "ready, on this node"
	case n.sel.Scope == ScopeNode && e.hintedToNode(n.node):
		return "ready, and its hints name " + n.node.Name
	case n.sel.Scope == ScopeZone && e.hintedToZone(n.node):
		return "ready, and its hints name " + n.node.Zone
	}
	return "ready"
}

// whyNot follows the order of the rules: state, traffic policy, the selector's
// wish for this node, topology.
func (n *narrator) whyNot(e *Endpoint) string {
	switch {
	case !e.Usable() && e.Terminating:
		return "terminating and no longer serving"
	case !e.Usable():
		return "not ready"
	case n.localOnly && !e.LocalTo(n.node):
		return fmt.Sprintf("%s, and %s is Local", elsewhere(e), n.policyField())
	case n.stayed():
		return n.whyNotHere(e)
	case !e.Ready && !n.drainingToo:
		return "terminating, and ready endpoints exist"
	}
	return n.whyNotHinted(e)
}

// whyNotHere is for a usable endpoint when only this node's were looked at.
func (n *narrator) whyNotHere(e *Endpoint) string {
	switch {
	case n.localReady == 0 && !e.LocalTo(n.node):
		return elsewhere(e) + ", and only endpoints on this node may be chosen"
	case n.localReady > 0 && !e.Ready:
		return "terminating, and ready endpoints exist on this node"
	case !e.LocalTo(n.node):
		return elsewhere(e) + ", and ready endpoints exist on this node"
	}
	return leftOut
}

// whyNotHinted is for an endpoint that only its hints can have kept out.
func (n *narrator) whyNotHinted(e *Endpoint) string {
	switch {
	case n.sel.Scope == ScopeNode && len(e.HintNodes) > 0 && !e.hintedToNode(n.node):
		return namesOthers(e.HintNodes, n.node.Name)
	case n.sel.Scope == ScopeZone && len(e.HintZones) > 0 && !e.hintedToZone(n.node):
		return namesOthers(e.HintZones, n.node.Zone)
	}
	return leftOut
}

// leftOut is all that can be said where no rule of this package speaks against
// an endpoint.
const leftOut = "left out by the selector"

// stayed reports whether the selection looked at this node's endpoints only,
// and not because of their hints.
func (n *narrator) stayed() bool {
	switch n.sel.Reason.Code {
	case LocalReady, PlentyLocal, LocalTerminating, NoLocalEndpoint:
		return true
	}
	return n.localOnly
}

// policyField is the field of the Service that the traffic policy comes from.
func (n *narrator) policyField() string { return n.traffic.String() + "TrafficPolicy" }

func elsewhere(e *Endpoint) string {
	if e.Node == "" {
		return "on a node that is not known"
	}
	return "on another node"
}

func namesOthers(hints []string, own string) string {
	return fmt.Sprintf("its hints name %s, not %s", strings.Join(hints, ", "), own)
}
