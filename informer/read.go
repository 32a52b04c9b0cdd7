package informer

import "slices"

// WantNodes asks the source to tell the number of nodes. Watching all nodes
// costs an API server the more, the more nodes do it, so a source that has to
// watch for it does not begin before it is asked. It cannot be taken back.
func (s *Store) WantNodes() { s.wantOnce.Do(func() { close(s.wantNodes) }) }

// Problems returns all bad values there are now, in a stable order.
func (s *Store) Problems() []Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.book.all()
}

// Services returns the names of all Services, sorted. Its cost is that of all
// of them, so it is for full rounds only.
func (s *Store) Services() []Name {
	s.mu.Lock()
	names := make([]Name, 0, len(s.groups))
	for n, g := range s.groups {
		if g.service != nil {
			names = append(names, n)
		}
	}
	s.mu.Unlock()
	slices.SortFunc(names, Name.compare)
	return names
}

// Node returns the proxy's own node. Only its name is there while there is no
// such object.
func (s *Store) Node() Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := Node{Name: s.opts.NodeName}
	if s.node != nil {
		n.Known, n.Leaving = true, s.node.leaving
		n.Zone, n.Addresses, n.PodCIDRs = s.node.zone, s.node.addresses, s.node.podCIDRs
	}
	return n
}

// Nodes returns the number of nodes in the cluster; 0 means it is not known.
// See WantNodes.
func (s *Store) Nodes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.nodes)
}

// Service returns one Service joined with its endpoints, and false when there
// is no such Service or it is not served. Its cost is that of this Service.
func (s *Store) Service(n Name) (*Service, bool) {
	s.mu.Lock()
	g := s.groups[n]
	if g == nil || g.service == nil {
		s.mu.Unlock()
		return nil, false
	}
	record, parts := g.service, make([]*slice, 0, len(g.slices))
	for _, part := range g.slices {
		parts = append(parts, part)
	}
	s.mu.Unlock()
	// Records never change, so the join needs no lock.
	return join(n, record, parts), true
}
