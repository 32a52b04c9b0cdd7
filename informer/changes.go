package informer

import (
	"context"
	"slices"
)

// Changes tells what changed since the last Take.
type Changes struct {
	// Services are those whose joined value may differ, sorted. One that
	// Store.Service does not return any more was deleted.
	Services []Name
	// Node is true when what Store.Node returns changed, and in the first Take.
	Node bool
	// Nodes is true when the number of nodes changed.
	Nodes bool
	// ServiceCIDRs is true when what Store.ServiceCIDRs returns changed; the
	// first Take compares it with none.
	ServiceCIDRs bool
}

// Wait blocks until the first complete lists of Services, EndpointSlices and
// the proxy's own Node are in and something changed since the last Take. The
// first lists count as a change even when they are empty, because what an
// earlier process left in the kernel may have to go. Wait returns an error only
// when ctx ends.
func (s *Store) Wait(ctx context.Context) error {
	s.mu.Lock()
	ready := s.ready
	s.mu.Unlock()
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Take returns what changed since the last Take, at a cost proportional to it.
// Before the first complete lists are in, it returns nothing and forgets
// nothing.
func (s *Store) Take() Changes {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.complete() {
		return Changes{}
	}
	c := Changes{
		Services:     make([]Name, 0, len(s.dirty)),
		Node:         s.nodeChanged(),
		Nodes:        s.nodesChanged(),
		ServiceCIDRs: s.cidrsChanged(),
	}
	for n := range s.dirty {
		c.Services = append(c.Services, n)
	}
	slices.SortFunc(c.Services, Name.compare)
	// A new map, because one that was once large stays large.
	s.dirty = make(map[Name]struct{})
	s.taken, s.takenNode, s.takenNodes, s.takenCIDRs = true, s.node, len(s.nodes), s.cidrs
	s.signal()
	return c
}

// complete reports whether a first list of everything needed is in. The number
// of nodes and the ServiceCIDRs are not needed: a proxy serves all Services
// without them.
func (s *Store) complete() bool {
	return s.listed[kindService] && s.listed[kindSlice] && s.listed[kindNode]
}

func (s *Store) nodeChanged() bool {
	switch {
	case !s.taken:
		return true
	case s.node == nil || s.takenNode == nil:
		return s.node != s.takenNode
	}
	return !s.node.equal(s.takenNode)
}

func (s *Store) nodesChanged() bool { return s.takenNodes != len(s.nodes) }

func (s *Store) cidrsChanged() bool { return !slices.Equal(s.takenCIDRs, s.cidrs) }

// signal opens or shuts the gate of Wait.
func (s *Store) signal() {
	open := s.complete() && (len(s.dirty) > 0 || s.nodeChanged() || s.nodesChanged() || s.cidrsChanged())
	switch {
	case open && !s.open:
		close(s.ready)
	case !open && s.open:
		s.ready = make(chan struct{})
	}
	s.open = open
}
