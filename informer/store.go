package informer

import (
	"log/slog"
	"net/netip"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
)

// StoreOptions configure a Store.
type StoreOptions struct {
	// NodeName names the Node this proxy runs on. Empty means no node: no
	// endpoint is local and there is no zone.
	NodeName string
	// Log gets what an operator should know. Nil means slog.Default.
	Log *slog.Logger
	// OnProblem is told each bad value once, and again only after it went away
	// and came back. It is called from the goroutines of the source, one call at
	// a time, and may read the Store but not write to it. Nil logs a warning
	// instead.
	OnProblem func(Problem)
}

// Store joins Services, EndpointSlices and Nodes, and knows the ServiceCIDRs.
// Sources write into it, a proxy takes changes out of it. It is safe for use by
// many goroutines.
type Store struct {
	opts StoreOptions

	// telling orders the calls of OnProblem. It is taken before mu, so that
	// problems are told in the order in which they came up.
	telling sync.Mutex

	mu     sync.Mutex
	groups map[Name]*group
	// slices finds a slice by its own name, for it may change its Service (B4).
	slices map[Name]*slice
	// node is the proxy's own Node; nil while there is no such object.
	node  *ownNode
	nodes map[string]struct{}
	// cidrs is the union of all serviceCIDRs; it is replaced, never modified.
	cidrs        []netip.Prefix
	serviceCIDRs map[string]serviceCIDR
	book         problemBook

	listed [kinds]bool
	dirty  map[Name]struct{}
	// taken* are what the last Take saw, to tell whether it differs now.
	taken      bool
	takenNode  *ownNode
	takenNodes int
	takenCIDRs []netip.Prefix
	// ready is closed while open is true: Wait need not wait.
	ready chan struct{}
	open  bool

	wantNodes chan struct{}
	wantOnce  sync.Once
}

// group is all that is known about the Service of one name. Slices may be there
// before their Service (B1), and are kept apart so that an endpoint that moves
// between them does not disappear (E6).
type group struct {
	service *service
	slices  map[string]*slice
}

// NewStore returns an empty Store.
func NewStore(opts StoreOptions) *Store {
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	return &Store{
		opts:         opts,
		groups:       make(map[Name]*group),
		slices:       make(map[Name]*slice),
		nodes:        make(map[string]struct{}),
		serviceCIDRs: make(map[string]serviceCIDR),
		dirty:        make(map[Name]struct{}),
		ready:        make(chan struct{}),
		wantNodes:    make(chan struct{}),
	}
}

// Set adds objects or replaces them: *v1.Service, *v1.EndpointSlice of
// discovery.k8s.io, *v1.Node and *v1.ServiceCIDR of networking.k8s.io. All of
// them become visible in one Take. The objects are not kept. Set fails for other
// types, and then changes nothing.
func (s *Store) Set(objects ...runtime.Object) error {
	changes, err := s.convertAll(objects)
	if err != nil {
		return err
	}
	s.update(changes, nil)
	return nil
}

// Delete removes objects; of each, only type, namespace and name are looked at.
func (s *Store) Delete(objects ...runtime.Object) error {
	changes, err := s.convertAll(objects)
	if err != nil {
		return err
	}
	for i := range changes {
		changes[i] = gone(changes[i].key)
	}
	s.update(changes, nil)
	return nil
}

// Replace makes objects the complete content of the Store, in one step: what
// is not among them is deleted, and what is unchanged stays untouched. Wait may
// return from now on.
func (s *Store) Replace(objects ...runtime.Object) error {
	changes, err := s.convertAll(objects)
	if err != nil {
		return err
	}
	s.update(changes, everything)
	return nil
}

func (s *Store) convertAll(objects []runtime.Object) ([]change, error) {
	all := make([]change, 0, len(objects))
	for _, object := range objects {
		changes, err := convert(object, s.opts.NodeName)
		if err != nil {
			return nil, err
		}
		all = append(all, changes...)
	}
	return all, nil
}

// update applies changes in one step. For each of the complete kinds, objects
// that are not among the changes are deleted.
func (s *Store) update(changes []change, complete []kind) {
	s.telling.Lock()
	defer s.telling.Unlock()
	for _, p := range s.apply(changes, complete) {
		if s.opts.OnProblem != nil {
			s.opts.OnProblem(p)
			continue
		}
		s.opts.Log.Warn("cannot use a value of an object", "kind", p.Kind, "object", p.Object,
			"field", p.Field, "value", p.Value, "reason", p.Reason)
	}
}

func (s *Store) apply(changes []change, complete []kind) (fresh []Problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range complete {
		s.listed[k] = true
		for _, stale := range s.others(k, changes) {
			fresh = append(fresh, s.applyOne(gone(stale))...)
		}
	}
	for _, c := range changes {
		fresh = append(fresh, s.applyOne(c)...)
	}
	s.signal()
	return fresh
}

// others returns the objects of a kind that are not among the changes.
func (s *Store) others(k kind, changes []change) (stale []key) {
	keep := make(map[Name]struct{}, len(changes))
	for _, c := range changes {
		if c.key.kind == k {
			keep[c.key.Name] = struct{}{}
		}
	}
	note := func(n Name) {
		if _, ok := keep[n]; !ok {
			stale = append(stale, key{k, n})
			keep[n] = struct{}{}
		}
	}
	s.eachOf(k, note)
	// An object of which nothing could be used has no record, only problems.
	for owner := range s.book.byOwner {
		if owner.kind == k {
			note(owner.Name)
		}
	}
	return stale
}

// eachOf calls note with the name of each object of a kind that has a record.
func (s *Store) eachOf(k kind, note func(Name)) {
	switch k {
	case kindService:
		for n, g := range s.groups {
			if g.service != nil {
				note(n)
			}
		}
	case kindSlice:
		for n := range s.slices {
			note(n)
		}
	case kindNode:
		note(Name{Name: s.opts.NodeName})
	case kindNodeName:
		for n := range s.nodes {
			note(Name{Name: n})
		}
	case kindServiceCIDR:
		for n := range s.serviceCIDRs {
			note(Name{Name: n})
		}
	}
}

func (s *Store) applyOne(c change) (fresh []Problem) {
	switch c.key.kind {
	case kindService:
		record, _ := c.record.(*service)
		s.applyService(c.key.Name, record)
	case kindSlice:
		record, _ := c.record.(*slice)
		s.applySlice(c.key.Name, record)
	case kindNode:
		s.applyNode(&c)
	case kindNodeName:
		delete(s.nodes, c.key.Name.Name)
		if c.record != nil {
			s.nodes[c.key.Name.Name] = struct{}{}
		}
	case kindServiceCIDR:
		record, _ := c.record.(serviceCIDR)
		s.applyServiceCIDR(c.key.Name.Name, record)
	}
	return s.book.set(c.key, c.problems)
}

// applyNode takes over the proxy's own Node. That there is no such
// object is unusual enough to be a problem, and never worse than that.
func (s *Store) applyNode(c *change) {
	if c.key.Name.Name != s.opts.NodeName || s.opts.NodeName == "" {
		return
	}
	n, ok := c.record.(*ownNode)
	if !ok {
		s.node = nil
		c.problems = []Problem{missingNode(s.opts.NodeName)}
		return
	}
	s.node = n
}

func (s *Store) applyService(n Name, record *service) {
	g := s.groups[n]
	if g == nil {
		if record == nil {
			return
		}
		g = &group{}
		s.groups[n] = g
	}
	if g.service == record || g.service != nil && record != nil && g.service.equal(record) {
		return
	}
	g.service = record
	s.dirty[n] = struct{}{}
	s.dropEmpty(n, g)
}

func (s *Store) applySlice(n Name, record *slice) {
	old := s.slices[n]
	if old == record || old != nil && record != nil && old.equal(record) {
		return
	}
	if old != nil {
		delete(s.slices, n)
		g := s.groups[old.service]
		delete(g.slices, n.Name)
		s.touch(old.service, g)
		if record == nil || record.service != old.service {
			s.dropEmpty(old.service, g)
		}
	}
	if record == nil {
		return
	}
	s.slices[n] = record
	g := s.groups[record.service]
	if g == nil {
		g = &group{}
		s.groups[record.service] = g
	}
	if g.slices == nil {
		g.slices = make(map[string]*slice, 1)
	}
	g.slices[n.Name] = record
	s.touch(record.service, g)
}

// touch marks a Service whose endpoints changed; slices without a Service
// change nothing that anyone can see.
func (s *Store) touch(n Name, g *group) {
	if g.service != nil {
		s.dirty[n] = struct{}{}
	}
}

func (s *Store) dropEmpty(n Name, g *group) {
	if g.service == nil && len(g.slices) == 0 {
		delete(s.groups, n)
	}
}
