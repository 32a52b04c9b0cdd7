package selector

import "slices"

// hintTally counts what the hints of the ready endpoints ask for. Endpoints in
// any other state have no say: a leaving pod must not decide where the traffic
// of the others goes.
type hintTally struct {
	ready                int // ready endpoints
	withNodes, withZones int // that have hints of the kind
	forNode, forZone     int // whose hints name the node, its zone
}

func (c *candidates) tallyHints() hintTally {
	t := hintTally{ready: c.ready}
	for i := range c.list {
		e := &c.list[i]
		if !e.Ready {
			continue
		}
		if len(e.HintNodes) > 0 {
			t.withNodes++
		}
		if len(e.HintZones) > 0 {
			t.withZones++
		}
		if e.hintedToNode(c.node) {
			t.forNode++
		}
		if e.hintedToZone(c.node) {
			t.forZone++
		}
	}
	return t
}

// hintedToNode reports whether the hints name the node. A node that does not
// know its name is named by nobody.
func (e *Endpoint) hintedToNode(n Node) bool {
	return n.Name != "" && slices.Contains(e.HintNodes, n.Name)
}

// hintedToZone reports whether the hints name the node's zone.
func (e *Endpoint) hintedToZone(n Node) bool {
	return n.Zone != "" && slices.Contains(e.HintZones, n.Zone)
}

// scope returns the circle that the hints ask for. A kind of hint counts only
// if every ready endpoint has it and one of them names this node or its zone:
// incomplete hints mean that their author is not done yet, and following them
// could overload the few endpoints that have them (KEP-2433, KEP-4444).
func (t *hintTally) scope() Scope {
	switch {
	case t.forNode > 0 && t.withNodes == t.ready:
		return ScopeNode
	case t.forZone > 0 && t.withZones == t.ready:
		return ScopeZone
	}
	return ScopeCluster
}

// wished returns the smallest circle that any hint asks for. A wider scope is a
// fallback.
func (t *hintTally) wished() Scope {
	switch {
	case t.withNodes > 0:
		return ScopeNode
	case t.withZones > 0:
		return ScopeZone
	}
	return ScopeCluster
}

// unused says why no hint is followed, for people who expect that one is.
func (t *hintTally) unused(n Node) Code {
	complete := t.withNodes == t.ready || t.withZones == t.ready
	switch {
	case t.withNodes == 0 && t.withZones == 0:
		return AllReady
	case t.withZones == t.ready && n.Zone == "":
		return NodeZoneUnknown
	case complete && t.forNode == 0 && t.forZone == 0:
		return HintsElsewhere
	}
	return HintsIncomplete
}
