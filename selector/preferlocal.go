package selector

// PreferLocal chooses the ready endpoints on this node if there are any, and
// otherwise exactly the backends that [Cluster] chooses, with Fallback true.
// Endpoints on this node that are terminating do not count: a ready endpoint on
// another node beats them.
//
// It saves the network and the latency of leaving the node, at the price that a
// node whose clients ask more than others loads its own endpoints alone.
//
// Under traffic policy Local it answers as [Local] does.
type PreferLocal struct{}

// Select implements [Selector].
func (PreferLocal) Select(req *Request) Selection {
	c := candidatesOf(req)
	switch {
	case req.Policy() == PolicyLocal:
		return c.selectLocal()
	case c.localReady > 0:
		return c.selectLocalReady(LocalReady)
	}
	return c.selectWider(NoLocalReady)
}

// selectWider is the answer of Cluster for a policy that would rather have
// stayed on this node, with the reason why it did not. Where nothing is ready at
// all, that is the better reason and stays.
func (c *candidates) selectWider(why Code) Selection {
	sel := c.selectCluster()
	sel.Fallback = true
	if c.ready > 0 {
		sel.Reason = because(why)
	}
	return sel
}
