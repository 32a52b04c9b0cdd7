package nft

import (
	"maps"
	"slices"
)

// journal remembers, for everything touched since the last commit, what it was
// then. What the kernel has to be told is the difference between then and now,
// so changes that cancel out cost nothing, and a commit that failed is simply
// tried again together with what has come since.
type journal struct {
	// exists is whether the kernel has the table.
	exists     bool
	frontends  map[frontendKey]former
	clusterIPs map[[16]byte]bool
	nodeAddrs  map[[16]byte]bool
	hairpins   map[[16]byte]bool
	programs   map[program]bool
	memories   map[string]bool
	members    map[member]bool
	// servicesChain is whether the chain of that name has changed.
	servicesChain bool
}

// former is what the kernel has for a frontend.
type former struct {
	shape *shape // nil: it has none
	pools pools
}

// newJournal returns a journal with room for that many changed services.
func newJournal(services int) journal {
	return journal{
		frontends:  make(map[frontendKey]former, services),
		clusterIPs: make(map[[16]byte]bool, services),
		nodeAddrs:  map[[16]byte]bool{},
		hairpins:   make(map[[16]byte]bool, services),
		programs:   map[program]bool{},
		memories:   map[string]bool{},
		members:    map[member]bool{},
	}
}

// frontend notes what a frontend was; the zero frontend is an absent one.
func (j *journal) frontend(key frontendKey, old frontend) {
	if _, noted := j.frontends[key]; !noted {
		j.frontends[key] = former{shape: old.shape, pools: old.pools}
	}
}

// Changes returns the transaction that takes the kernel from what it was given
// last to what the table wants now, or nil if that is the same. It may be
// called again until Committed says that the kernel took it.
//
// A new table takes the kernel's to be absent. To replace one that is there,
// read it back and use Diff.
func (t *Table) Changes() *Transaction {
	tx := &Transaction{Family: t.cfg.Family}
	t.changedLayout(tx)
	newMemories, members, oldMemories := t.changedMemories()
	tx.ops = append(tx.ops, newMemories...)
	newChains, oldChains := t.changedPrograms()
	tx.addChains(newChains)
	del, add := t.changedElements()
	for i, s := range t.layout.sets {
		tx.deleteElements(s, del[i])
	}
	for i, s := range t.layout.sets {
		tx.addElements(s, add[i])
	}
	tx.ops = append(tx.ops, members...)
	tx.deleteChains(oldChains)
	tx.ops = append(tx.ops, oldMemories...)
	return tx.orNil()
}

// changedLayout makes the table if the kernel does not have it, and writes the
// one fixed chain anew that may change.
func (t *Table) changedLayout(tx *Transaction) {
	if t.journal.exists && !t.journal.servicesChain {
		return
	}
	services := servicesChain(t.cfg.Family, t.serviceCIDRs)
	switch {
	case !t.journal.exists:
		tx.createTable()
		for _, s := range t.layout.sets {
			tx.addSet(s)
		}
		tx.addChains(append([]*Chain{services}, t.layout.chains...))
	default:
		tx.flushChain(services)
		tx.addRules(services)
	}
}

// changedElements returns the elements that went and came, by set.
func (t *Table) changedElements() (del, add [setCount]records) {
	f := t.cfg.Family
	for i, s := range t.layout.sets {
		del[i], add[i] = newRecords(&s.decl), newRecords(&s.decl)
	}
	if !t.journal.exists {
		t.makeRoom(&add)
	}
	for _, key := range slices.SortedFunc(maps.Keys(t.journal.frontends), compareKeys) {
		t.changedFrontend(key, &del, &add)
	}
	each := func(was map[[16]byte]bool, is map[[16]byte]int32, set int, put func(rec []byte, ip [16]byte)) {
		for _, ip := range slices.SortedFunc(maps.Keys(was), compareIPs) {
			if recs := pick(was[ip], is[ip] > 0, &del, &add); recs != nil {
				put(recs[set].extend(), ip)
			}
		}
	}
	putAddr := func(rec []byte, ip [16]byte) { copy(rec, ip[:f.addrLen()]) }
	each(t.journal.clusterIPs, t.clusterIPs, clusterIPsSet, putAddr)
	each(t.journal.nodeAddrs, t.nodeAddrs, nodeIPsSet, putAddr)
	each(t.journal.hairpins, t.hairpins, hairpinSet, func(rec []byte, ip [16]byte) { putHairpin(f, rec, ip) })
	return del, add
}

// makeRoom makes room for the elements of a new table.
func (t *Table) makeRoom(add *[setCount]records) {
	slots := 0
	for _, f := range t.frontends {
		for _, pool := range f.pools {
			slots += len(pool)
		}
	}
	add[backendsSet].grow(slots)
	add[frontendsSet].grow(len(t.frontends))
	add[clusterIPsSet].grow(len(t.clusterIPs))
	add[hairpinSet].grow(len(t.hairpins))
}

// pick returns the list an element belongs to: neither if it stays as it was.
func pick(was, is bool, del, add *[setCount]records) *[setCount]records {
	switch {
	case was && !is:
		return del
	case is && !was:
		return add
	}
	return nil
}

// changedFrontend adds the difference of one frontend.
func (t *Table) changedFrontend(key frontendKey, del, add *[setCount]records) {
	f, was, now := t.cfg.Family, t.journal.frontends[key], t.frontends[key]
	if !equalShapes(was.shape, now.shape) {
		var before, after [setCount]program
		was.shape.visit(key.isNodePort(), func(set int, p program) { before[set] = p })
		now.shape.visit(key.isNodePort(), func(set int, p program) { after[set] = p })
		for set := range setCount {
			if before[set] == after[set] {
				continue
			}
			if before[set].kind != programNone {
				putVerdictOf(f, del[set].extend(), key, before[set])
			}
			if after[set].kind != programNone {
				putVerdictOf(f, add[set].extend(), key, after[set])
			}
		}
	}
	for i, first := range firstSlots {
		changedSlots(f, key, first, was.pools[i], now.pools[i], &del[backendsSet], &add[backendsSet])
	}
}

// changedSlots adds the difference of one pool's slots, the first of which has
// the given number.
func changedSlots(f Family, key frontendKey, first uint32, was, now []slot, del, add *records) {
	for n := range max(len(was), len(now)) {
		if n < len(was) && n < len(now) && was[n].sameTarget(now[n]) {
			continue
		}
		if n < len(was) {
			putBackend(f, del.extend(), key, first+uint32(n), was[n])
		}
		if n < len(now) {
			putBackend(f, add.extend(), key, first+uint32(n), now[n])
		}
	}
}

// changedPrograms returns the chains of programs that came and went.
func (t *Table) changedPrograms() (added, removed []*Chain) {
	for _, p := range slices.SortedFunc(maps.Keys(t.journal.programs), comparePrograms) {
		switch was, is := t.journal.programs[p], t.programs[p] > 0; {
		case is && !was:
			added = append(added, p.chain(t.cfg.Family))
		case was && !is:
			removed = append(removed, p.chain(t.cfg.Family))
		}
	}
	return added, removed
}

// Committed tells the table that the kernel now has all it wants: the
// transaction of Changes, or one from Diff to Ruleset, was taken.
func (t *Table) Committed() {
	// A large journal is let go; a small one is used again.
	j := &t.journal
	if len(j.frontends)+len(j.members)+len(j.hairpins)+len(j.clusterIPs) > smallJournal {
		t.journal = newJournal(0)
	}
	t.journal.exists = true
	clear(t.journal.frontends)
	clear(t.journal.clusterIPs)
	clear(t.journal.nodeAddrs)
	clear(t.journal.hairpins)
	clear(t.journal.programs)
	clear(t.journal.memories)
	clear(t.journal.members)
	t.journal.servicesChain = false
	t.adopted = nil
}

// smallJournal is the number of changes above which a journal's
// memory is not kept. Clearing a map costs as much as it once held.
const smallJournal = 1024

// Pending returns the number of frontends touched since the last commit.
func (t *Table) Pending() int { return len(t.journal.frontends) }
