package nft

import (
	"cmp"
	"net/netip"
	"slices"
	"time"
)

// Table is the desired content of one family's table. It takes services one at
// a time and knows what differs from what the kernel was last given, so that a
// change costs what changed however many services there are.
//
// A Table does no I/O. It is for one goroutine at a time.
type Table struct {
	cfg    Config
	layout layout

	services  map[string]*service
	frontends map[frontendKey]frontend
	// contested lists the services that claim one address, best first, where
	// there is more than one.
	contested map[frontendKey][]*service

	// How often an element or chain is needed.
	clusterIPs map[[16]byte]int32
	hairpins   map[[16]byte]int32
	programs   map[program]int32
	memories   map[string]*memory

	nodeAddrs    map[[16]byte]int32
	serviceCIDRs []netip.Prefix

	// adopted holds slots found in the kernel before the first commit.
	adopted map[frontendKey]pools

	journal journal
}

// service is a Service as the table keeps it.
type service struct {
	name   string
	rank   int64
	claims []claim
	// index finds a claim by its key where there are many.
	index map[frontendKey]int
}

// claim is a frontend that a service wants.
type claim struct {
	key   frontendKey
	port  string
	shape shape
	pools pools
	// group and timeout belong to sticky frontends; 0 is no time.
	group   string
	timeout time.Duration
}

// frontend is the frontend that the table has for a key.
type frontend struct {
	owner *service
	shape *shape // the owner's claim's
	pools pools
}

// pools are the slots of a frontend: those for everyone or, where clients
// outside have slots of their own, those for pods and the node, and the others.
type pools [2][]slot

// firstSlots are the numbers of the first slot of each pool.
var firstSlots = [len(pools{})]uint32{0, outsideSlots}

// NewTable returns a table without services. It panics if cfg is not valid.
func NewTable(cfg Config) *Table {
	if err := cfg.Validate(); err != nil {
		panic("nft: " + err.Error())
	}
	t := &Table{
		cfg:       cfg,
		layout:    newLayout(cfg),
		contested: map[frontendKey][]*service{},
		programs:  map[program]int32{},
		memories:  map[string]*memory{},
		nodeAddrs: map[[16]byte]int32{},
		journal:   newJournal(0),
	}
	t.Grow(0)
	return t
}

// Grow makes room for about that many services, so that filling a new table
// does not move what is there again and again. It does nothing to a table that
// holds services already.
func (t *Table) Grow(services int) {
	if len(t.services) > 0 || len(t.journal.frontends) > 0 {
		return
	}
	t.services = make(map[string]*service, services)
	t.frontends = make(map[frontendKey]frontend, services)
	t.clusterIPs = make(map[[16]byte]int32, services)
	t.hairpins = make(map[[16]byte]int32, services)
	exists, changed := t.journal.exists, t.journal.servicesChain
	nodeAddrs := t.journal.nodeAddrs
	t.journal = newJournal(services)
	t.journal.exists, t.journal.servicesChain, t.journal.nodeAddrs = exists, changed, nodeAddrs
}

// Compile returns the table that has the given services, and what in them had
// to be left out.
func Compile(cfg Config, services []Service) (*Table, []Problem) {
	t := NewTable(cfg)
	t.Grow(len(services))
	var problems []Problem
	for _, s := range services {
		problems = append(problems, t.Set(s)...)
	}
	return t, problems
}

// Family returns the table's family.
func (t *Table) Family() Family { return t.cfg.Family }

// Frontends returns the number of frontends.
func (t *Table) Frontends() int { return len(t.frontends) }

// Set adds a service, or replaces the one of the same name. What cannot be
// used is left out and returned as problems; the rest takes effect. A frontend
// that a better ranked service owns is left out until that service gives it
// up. The problem of a service that loses a frontend to this one is returned
// too.
func (t *Table) Set(s Service) []Problem {
	claims, problems := t.check(s)
	old := t.services[s.Name]
	next := newService(s.Name, s.Rank, claims)
	if len(claims) == 0 {
		delete(t.services, s.Name)
	} else {
		t.services[s.Name] = next
	}
	if old != nil {
		for _, c := range old.claims {
			if next.claim(c.key) == nil {
				t.withdraw(old, c.key)
			}
		}
	}
	for i := range claims {
		problems = append(problems, t.assert(old, next, claims[i].key)...)
	}
	return problems
}

// Delete removes a service. Where another one claims a frontend of it, that
// one takes over.
func (t *Table) Delete(name string) {
	if s := t.services[name]; s != nil {
		delete(t.services, name)
		for _, c := range s.claims {
			t.withdraw(s, c.key)
		}
	}
}

// manyClaims is the number of claims from which on they have an index.
const manyClaims = 16

func newService(name string, rank int64, claims []claim) *service {
	s := &service{name: name, rank: rank, claims: claims}
	if len(claims) >= manyClaims {
		s.index = make(map[frontendKey]int, len(claims))
		for i := range claims {
			s.index[claims[i].key] = i
		}
	}
	return s
}

// claim returns the service's claim on a key, or nil.
func (s *service) claim(key frontendKey) *claim {
	if s.index != nil {
		if i, ok := s.index[key]; ok {
			return &s.claims[i]
		}
		return nil
	}
	for i := range s.claims {
		if s.claims[i].key == key {
			return &s.claims[i]
		}
	}
	return nil
}

// compareClaimants orders services that claim one address: whoever has it as
// its ClusterIP, which the cluster hands out, before those that merely name it.
func compareClaimants(a, b *service, key frontendKey) int {
	return cmp.Or(
		cmp.Compare(a.claim(key).shape.kind, b.claim(key).shape.kind),
		cmp.Compare(a.rank, b.rank),
		cmp.Compare(a.name, b.name),
	)
}

// assert makes s a claimant of the key in place of old, and puts the best
// claimant's frontend into the table.
func (t *Table) assert(old, s *service, key frontendKey) []Problem {
	current, taken := t.frontends[key]
	rivals := t.contested[key]
	if len(rivals) == 0 && (!taken || current.owner == old) {
		t.install(key, s)
		return nil
	}
	if len(rivals) == 0 {
		rivals = []*service{current.owner}
	}
	rivals = slices.DeleteFunc(slices.Clone(rivals), func(r *service) bool { return r == old })
	rivals = append(rivals, s)
	slices.SortFunc(rivals, func(a, b *service) int { return compareClaimants(a, b, key) })
	t.contested[key] = rivals
	if rivals[0] != current.owner || rivals[0] == s {
		t.install(key, rivals[0])
	}
	return t.contestProblems(key, s)
}

// withdraw ends a service's claim on a key.
func (t *Table) withdraw(s *service, key frontendKey) {
	rivals := t.contested[key]
	if len(rivals) == 0 {
		t.remove(key)
		return
	}
	rivals = slices.DeleteFunc(slices.Clone(rivals), func(r *service) bool { return r == s })
	t.contested[key] = rivals
	if len(rivals) == 1 {
		delete(t.contested, key)
	}
	if t.frontends[key].owner == s {
		t.install(key, rivals[0])
	}
}

// install gives a key the frontend that its owner wants.
func (t *Table) install(key frontendKey, owner *service) {
	c := owner.claim(key)
	old, was := t.frontends[key]
	t.journal.frontend(key, old)
	next := frontend{owner: owner, shape: &c.shape}
	present := t.inKernel(key)
	for i := range next.pools {
		next.pools[i] = settle(present[i], c.pools[i])
	}
	t.frontends[key] = next
	t.share(key, next, 1)
	if was {
		t.share(key, old, -1)
	}
}

// inKernel returns the slots that the kernel has for a frontend in the journal.
// New slots are settled among those and not among what the table wanted in
// between, so that the outcome does not depend on the steps that led to it.
func (t *Table) inKernel(key frontendKey) pools {
	if former := t.journal.frontends[key]; former.shape != nil {
		return former.pools
	}
	return t.adopted[key]
}

// remove takes a frontend out of the table.
func (t *Table) remove(key frontendKey) {
	old := t.frontends[key]
	t.journal.frontend(key, old)
	delete(t.frontends, key)
	t.share(key, old, -1)
}

// share counts what a frontend needs that others may need too.
func (t *Table) share(key frontendKey, f frontend, by int32) {
	if f.shape.kind == ClusterIP {
		count(t.clusterIPs, t.journal.clusterIPs, key.ip, by)
	}
	f.shape.visit(key.isNodePort(), func(_ int, p program) {
		if p.ownChain() {
			count(t.programs, t.journal.programs, p, by)
		}
		if p.kind == programSticky {
			count(t.programs, t.journal.programs, p.picks(), by)
		}
	})
	if f.shape.isSticky() {
		t.shareMemories(f, by)
	}
	for _, slots := range f.pools {
		for _, s := range slots {
			if s.local {
				count(t.hairpins, t.journal.hairpins, s.ip, by)
			}
		}
	}
}

// count adds to a count and drops it at zero. The first time since the last
// commit it notes whether the key was there.
func count[K comparable](counts map[K]int32, was map[K]bool, key K, by int32) {
	n := counts[key]
	if _, noted := was[key]; !noted {
		was[key] = n > 0
	}
	if n += by; n == 0 {
		delete(counts, key)
	} else {
		counts[key] = n
	}
}
