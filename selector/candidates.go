package selector

// candidates are the endpoints of a request in the order of their addresses,
// each address once, counted by what may become of them. All built-in policies
// start from it.
type candidates struct {
	list []Endpoint
	node Node

	ready, draining           int // anywhere
	localReady, localDraining int // on node
}

func candidatesOf(req *Request) candidates {
	c := candidates{list: inOrder(req.Endpoints), node: req.Node}
	for i := range c.list {
		e := &c.list[i]
		switch {
		case e.Ready:
			c.ready++
			if e.LocalTo(c.node) {
				c.localReady++
			}
		case e.Draining():
			c.draining++
			if e.LocalTo(c.node) {
				c.localDraining++
			}
		}
	}
	return c
}

// pick returns the n endpoints that keep accepts as backends of equal weight.
// The caller has counted them, so that there is one allocation.
func (c *candidates) pick(n int, keep func(*Endpoint) bool) []Backend {
	backends := make([]Backend, 0, n)
	for i := range c.list {
		if e := &c.list[i]; keep(e) {
			backends = append(backends, Backend{Addr: e.Addr, Weight: 1})
		}
	}
	return backends
}

// pickReady returns all ready endpoints.
func (c *candidates) pickReady() []Backend {
	return c.pick(c.ready, func(e *Endpoint) bool { return e.Ready })
}

// pickLocalReady returns the ready endpoints on the node.
func (c *candidates) pickLocalReady() []Backend {
	return c.pick(c.localReady, func(e *Endpoint) bool { return e.Ready && e.LocalTo(c.node) })
}
