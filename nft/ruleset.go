package nft

import (
	"bytes"
	"maps"
	"slices"
)

// Ruleset is the content of one table as nftables objects: what a Table wants,
// or what was read from the kernel. It is a snapshot and does not change.
type Ruleset struct {
	// Family is the table's family; its name is TableName.
	Family Family
	// Sets and Chains are the table's objects in the order nft prints them.
	Sets   []*Set
	Chains []*Chain
	// generation is the kernel's generation of all rulesets when this one was
	// read; 0 when it was not read from the kernel.
	generation uint32
	// foreign is set where someone else changed the table in a way that cannot
	// be taken back piece by piece.
	foreign bool
}

// Elements returns the number of elements in all sets and maps.
func (r *Ruleset) Elements() (n int) {
	for _, s := range r.Sets {
		n += s.Len()
	}
	return n
}

// Equal reports whether two rulesets are the same to the kernel: the same
// objects and elements, whatever their order.
func (r *Ruleset) Equal(o *Ruleset) bool {
	if r == nil || o == nil {
		return r == o
	}
	if len(r.Chains) != len(o.Chains) || len(r.Sets) != len(o.Sets) || r.Family != o.Family || r.foreign != o.foreign {
		return false
	}
	others := o.sets()
	for _, s := range r.Sets {
		other := others[s.Name]
		if other == nil || other.decl != s.decl || !bytes.Equal(s.records.sorted().buf, other.records.sorted().buf) {
			return false
		}
	}
	chains := o.chains()
	for _, c := range r.Chains {
		other := chains[c.Name]
		if other == nil || !equalBase(c.Base, other.Base) || !equalRules(c.Rules, other.Rules) {
			return false
		}
	}
	return true
}

func (r *Ruleset) sets() map[string]*Set {
	byName := make(map[string]*Set, len(r.Sets))
	for _, s := range r.Sets {
		byName[s.Name] = s
	}
	return byName
}

func (r *Ruleset) set(name string) *Set {
	for _, s := range r.Sets {
		if s.Name == name {
			return s
		}
	}
	return nil
}

func (r *Ruleset) chains() map[string]*Chain {
	byName := make(map[string]*Chain, len(r.Chains))
	for _, c := range r.Chains {
		byName[c.Name] = c
	}
	return byName
}

// Ruleset returns the whole content of the table. It costs as much as the
// table is large: partial rounds use Changes.
func (t *Table) Ruleset() *Ruleset {
	r := &Ruleset{Family: t.cfg.Family, Chains: append([]*Chain{servicesChain(t.cfg.Family, t.serviceCIDRs)}, t.layout.chains...)}
	var recs [setCount]records
	for i, s := range t.layout.sets {
		recs[i] = newRecords(&s.decl)
	}
	f := t.cfg.Family
	for key, fe := range t.frontends {
		fe.shape.visit(key.isNodePort(), func(set int, p program) {
			putVerdictOf(f, recs[set].extend(), key, p)
		})
		for i, first := range firstSlots {
			for n, s := range fe.pools[i] {
				putBackend(f, recs[backendsSet].extend(), key, first+uint32(n), s)
			}
		}
	}
	for ip := range t.clusterIPs {
		copy(recs[clusterIPsSet].extend(), ip[:f.addrLen()])
	}
	for ip := range t.nodeAddrs {
		copy(recs[nodeIPsSet].extend(), ip[:f.addrLen()])
	}
	for ip := range t.hairpins {
		putHairpin(f, recs[hairpinSet].extend(), ip)
	}
	for i, s := range t.layout.sets {
		r.Sets = append(r.Sets, &Set{Name: s.Name, decl: s.decl, records: recs[i].sorted()})
	}
	for _, name := range slices.Sorted(maps.Keys(t.memories)) {
		clients, _ := memorySets(f, name)
		r.Sets = append(r.Sets, clients, t.memorySet(name))
	}
	programs := make([]program, 0, len(t.programs))
	for p := range t.programs {
		programs = append(programs, p)
	}
	slices.SortFunc(programs, comparePrograms)
	for _, p := range programs {
		r.Chains = append(r.Chains, p.chain(f))
	}
	return r
}

// putDialled writes a frontend's key and returns its length.
func putDialled(f Family, rec []byte, key frontendKey) int {
	n := f.addrLen()
	copy(rec, key.ip[:n])
	rec[n] = byte(key.proto)
	rec[n+4], rec[n+5] = byte(key.port>>8), byte(key.port)
	return n + 8
}

// putVerdictOf writes an element of a map of verdicts.
func putVerdictOf(f Family, rec []byte, key frontendKey, p program) {
	n := putDialled(f, rec, key)
	p.putVerdict(rec[n:])
}

// putBackend writes an element of the backends map.
func putBackend(f Family, rec []byte, key frontendKey, number uint32, s slot) {
	n := putDialled(f, rec, key)
	n += copy(rec[n:], nativeUint32(number))
	n += copy(rec[n:], s.ip[:f.addrLen()])
	rec[n], rec[n+1] = byte(s.port>>8), byte(s.port)
}

// putHairpin writes an element of the hairpin set.
func putHairpin(f Family, rec []byte, ip [16]byte) {
	n := copy(rec, ip[:f.addrLen()])
	copy(rec[n:], ip[:f.addrLen()])
}
