package main

import "github.com/nearside/nearside/selector"

// Standby sends all connections to one endpoint, the same on every node, and to
// the next one only when that is no longer usable. It suits services of which
// just one instance does the work, such as a database with a single writer.
type Standby struct{}

// Select implements selector.Selector. Endpoints come in the order of their
// addresses, so all nodes choose the same one without talking to each other.
func (Standby) Select(req *selector.Request) selector.Selection {
	sel := selector.Cluster{}.Select(req)
	if len(sel.Backends) > 1 {
		sel.Backends = sel.Backends[:1]
		sel.Reason = selector.Reason{Code: "Standby", Text: "the first endpoint gets all connections, the others stand by"}
	}
	return sel
}
