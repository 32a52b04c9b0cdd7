package selector

// Local chooses endpoints on this node only: the ready ones, or else those that
// are terminating and still serving, even while other nodes have ready ones
// (KEP-2086, KEP-1669). Topology plays no part.
//
// Where it finds nothing, connections are dropped if a usable endpoint exists on
// another node, so that a load balancer or client tries there, and rejected if
// there is none anywhere.
//
// It is what internalTrafficPolicy and externalTrafficPolicy Local demand. Where
// that is so, every built-in policy answers like this one. Where it is not so,
// [Enforce] does not let it pass for a policy of its own: it would cut off
// clients, or send them to a terminating endpoint, that others could serve.
type Local struct{}

// Select implements [Selector].
func (Local) Select(req *Request) Selection {
	c := candidatesOf(req)
	return c.selectLocal()
}

func (c *candidates) selectLocal() Selection {
	switch {
	case c.localReady > 0:
		return c.selectLocalReady(LocalReady)
	case c.localDraining > 0:
		return Selection{
			Backends: c.pick(c.localDraining, func(e *Endpoint) bool { return e.Draining() && e.LocalTo(c.node) }),
			Scope:    ScopeNode,
			Fallback: true,
			Reason:   because(LocalTerminating),
		}
	case c.ready > 0 || c.draining > 0:
		return Selection{Scope: ScopeNode, Empty: Drop, Reason: because(NoLocalEndpoint)}
	}
	return Selection{Scope: ScopeNode, Empty: Reject, Reason: because(NoEndpoint)}
}

// selectLocalReady chooses the ready endpoints on this node, of which there is
// at least one.
func (c *candidates) selectLocalReady(why Code) Selection {
	return Selection{Backends: c.pickLocalReady(), Scope: ScopeNode, Reason: because(why)}
}
