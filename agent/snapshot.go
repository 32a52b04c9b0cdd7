package agent

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/selector"
)

// environment is what every selection of a round depends on besides the
// service.
type environment struct {
	node  selector.Node
	nodes int
	// nodeAddrs are the node's own addresses, as its Node object has them.
	nodeAddrs []netip.Addr
}

// snapshot is what one round looks at.
type snapshot struct {
	environment
	// services are the names to select again, sorted. A name that the store no
	// longer has is a service to delete.
	services []informer.Name
}

// currentEnvironment reads the node and the number of nodes.
func (a *Agent) currentEnvironment() environment {
	node := a.store.Node()
	return environment{
		node:      selector.Node{Name: a.opts.NodeName, Zone: node.Zone},
		nodes:     a.store.Nodes(),
		nodeAddrs: node.Addresses,
	}
}

// snapshot turns what changed in the store into what this round has to do. A
// changed service costs itself; a changed zone costs every service, because any
// selector may look at it; a changed number of nodes costs the services whose
// policy counts nodes; a service in quarantine whose time has come costs itself.
func (a *Agent) snapshot(c informer.Changes, everything bool) snapshot {
	s := snapshot{environment: a.currentEnvironment(), services: c.Services}
	if everything || c.Node {
		s.services = mergeNames(s.services, a.store.Services())
		return s
	}
	if c.Nodes {
		s.services = mergeNames(s.services, a.memory.counting())
	}
	for _, f := range a.families {
		s.services = mergeNames(s.services, f.quarantine.due(a.now()))
	}
	return s
}

// mergeNames returns the names of all lists, sorted, each once.
func mergeNames(lists ...[]informer.Name) []informer.Name {
	rest := lists[:0:0]
	for _, l := range lists {
		if len(l) > 0 {
			rest = append(rest, l)
		}
	}
	if len(rest) == 1 && slices.IsSortedFunc(rest[0], compareNames) {
		return rest[0]
	}
	merged := slices.Concat(rest...)
	slices.SortFunc(merged, compareNames)
	return slices.Compact(merged)
}

func compareNames(a, b informer.Name) int {
	if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}
