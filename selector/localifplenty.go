package selector

// DefaultShare is the share of [LocalIfPlenty] that its zero value means.
const DefaultShare = 0.5

// LocalIfPlenty chooses the ready endpoints on this node where the service has
// plenty of them: more ready endpoints, in the whole cluster, than Share times
// the number of nodes. Then most nodes have one, the load that each of them
// brings to its own is a small part of the whole, and little can go wrong
// without any measurement. Otherwise, and where this node has no ready endpoint
// or the number of nodes is not known, it chooses exactly the backends that
// [Cluster] chooses, with Fallback true.
//
// Under traffic policy Local it answers as [Local] does.
type LocalIfPlenty struct {
	// Share is the number of ready endpoints per node that must be exceeded.
	// Zero means DefaultShare, and so does any value that is not a positive
	// number. A larger share makes the policy more cautious; with 1, a service
	// needs more ready endpoints than the cluster has nodes.
	Share float64
}

// Select implements [Selector].
func (p LocalIfPlenty) Select(req *Request) Selection {
	c := candidatesOf(req)
	switch {
	case req.Policy() == PolicyLocal:
		return c.selectLocal()
	case c.localReady == 0:
		return c.selectWider(NoLocalReady)
	case req.Nodes <= 0:
		return c.selectWider(NodesUnknown)
	case float64(c.ready) <= p.share()*float64(req.Nodes):
		return c.selectWider(TooFewEndpoints)
	}
	return c.selectLocalReady(PlentyLocal)
}

// share returns Share or its default; a NaN fails the comparison too.
func (p LocalIfPlenty) share() float64 {
	if p.Share > 0 {
		return p.Share
	}
	return DefaultShare
}
