package selector

// Cluster is the policy of a Service that has no wish of its own. It chooses the
// ready endpoints whose hints name this node, or else its zone, provided that
// every ready endpoint has such hints; otherwise all ready endpoints; and if
// there are none, all endpoints of the cluster that are terminating and still
// serving, whatever their hints (KEP-1669, KEP-2433, KEP-3015).
//
// Fallback is true where hints exist that ask for a smaller circle than the one
// that is used, and where only terminating endpoints are left. Without any
// usable endpoint, connections are rejected.
//
// Under traffic policy Local it answers as [Local] does.
type Cluster struct{}

// Select implements [Selector].
func (Cluster) Select(req *Request) Selection {
	c := candidatesOf(req)
	if req.Policy() == PolicyLocal {
		return c.selectLocal()
	}
	return c.selectCluster()
}

// selectCluster is the policy for candidates under traffic policy Cluster.
func (c *candidates) selectCluster() Selection {
	switch {
	case c.ready > 0:
		return c.selectByHints()
	case c.draining > 0:
		return Selection{
			Backends: c.pick(c.draining, (*Endpoint).Draining),
			Scope:    ScopeCluster,
			Fallback: true,
			Reason:   because(TerminatingOnly),
		}
	}
	return Selection{Scope: ScopeCluster, Empty: Reject, Reason: because(NoEndpoint)}
}

// selectByHints chooses among ready endpoints, of which there is at least one.
func (c *candidates) selectByHints() Selection {
	t := c.tallyHints()
	sel := Selection{Scope: t.scope()}
	sel.Fallback = sel.Scope < t.wished()
	switch sel.Scope {
	case ScopeNode:
		sel.Backends = c.pick(t.forNode, func(e *Endpoint) bool { return e.Ready && e.hintedToNode(c.node) })
		sel.Reason = because(NodeHint)
	case ScopeZone:
		sel.Backends = c.pick(t.forZone, func(e *Endpoint) bool { return e.Ready && e.hintedToZone(c.node) })
		sel.Reason = because(ZoneHint)
	default:
		sel.Backends = c.pickReady()
		sel.Reason = because(t.unused(c.node))
	}
	return sel
}
