package agent

import (
	"slices"

	"github.com/nearside/nearside/informer"
)

// memory is what the agent keeps of services between rounds: a few bytes for
// each, and the notices of those that gave reason to any.
type memory struct {
	services  map[informer.Name]memo
	endpoints int
	noLocal   noLocal
	noticed   map[string][]Notice
}

// memo is what is kept of one service.
type memo struct {
	// endpoints is the number of its endpoints, over all ports.
	endpoints int32
	// countsNodes is true if its policy counts nodes.
	countsNodes bool
	// noLocal counts its ports that have endpoints elsewhere only.
	noLocal noLocal
}

func newMemory() *memory {
	return &memory{services: make(map[informer.Name]memo), noticed: make(map[string][]Notice)}
}

// remember notes what was selected for a service.
func (m *memory) remember(sel *selection) {
	n := 0
	for i := range sel.service.Ports {
		n += len(sel.service.Ports[i].Endpoints)
	}
	name := sel.service.Name
	before, now := m.services[name], memo{endpoints: int32(n), countsNodes: sel.policy.countsNodes, noLocal: sel.noLocal()}
	m.endpoints += n - int(before.endpoints)
	m.noLocal.replace(before.noLocal, now.noLocal)
	m.services[name] = now
}

func (m *memory) forget(name informer.Name) {
	m.endpoints -= int(m.services[name].endpoints)
	m.noLocal.replace(m.services[name].noLocal, noLocal{})
	delete(m.services, name)
	delete(m.noticed, name.String())
}

// counting returns the services whose policy counts nodes, in no order.
func (m *memory) counting() []informer.Name {
	var names []informer.Name
	for name, kept := range m.services {
		if kept.countsNodes {
			names = append(names, name)
		}
	}
	return names
}

// fresh returns those notices about a service that were not given the last
// time, and keeps all for the next: a problem that lasts is told once.
func (m *memory) fresh(service string, notices []Notice) []Notice {
	before := m.noticed[service]
	if len(notices) == 0 {
		delete(m.noticed, service)
		return nil
	}
	m.noticed[service] = notices
	return slices.DeleteFunc(slices.Clone(notices), func(n Notice) bool { return slices.Contains(before, n) })
}
