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
	hairpins   map[[16]byte]bool
	programs   map[program]bool
}

// former is what the kernel has for a frontend.
type former struct {
	was     bool
	program program
	slots   []slot
}

func newJournal() journal {
	return journal{
		frontends:  map[frontendKey]former{},
		clusterIPs: map[[16]byte]bool{},
		hairpins:   map[[16]byte]bool{},
		programs:   map[program]bool{},
	}
}

func (j *journal) frontend(key frontendKey, old frontend, was bool) {
	if _, noted := j.frontends[key]; !noted {
		j.frontends[key] = former{was: was, program: old.program, slots: old.slots}
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
	f := t.cfg.Family
	if !t.journal.exists {
		tx.createTable()
		for _, s := range t.layout.sets {
			tx.addSet(s)
		}
		tx.addChains(t.layout.chains)
	}
	newChains, oldChains := t.changedPrograms()
	tx.addChains(newChains)

	var del, add [setCount]records
	for i, s := range t.layout.sets {
		del[i], add[i] = newRecords(&s.decl), newRecords(&s.decl)
	}
	for _, key := range slices.SortedFunc(maps.Keys(t.journal.frontends), compareKeys) {
		t.changedFrontend(key, &del, &add)
	}
	for _, ip := range slices.SortedFunc(maps.Keys(t.journal.clusterIPs), compareIPs) {
		if recs := pick(t.journal.clusterIPs[ip], t.clusterIPs[ip] > 0, &del, &add); recs != nil {
			copy(recs[clusterIPsSet].extend(), ip[:f.addrLen()])
		}
	}
	for _, ip := range slices.SortedFunc(maps.Keys(t.journal.hairpins), compareIPs) {
		if recs := pick(t.journal.hairpins[ip], t.hairpins[ip] > 0, &del, &add); recs != nil {
			putHairpin(f, recs[hairpinSet].extend(), ip)
		}
	}
	for i, s := range t.layout.sets {
		tx.deleteElements(s, del[i])
	}
	for i, s := range t.layout.sets {
		tx.addElements(s, add[i])
	}
	tx.deleteChains(oldChains)
	return tx.orNil()
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
	f, was := t.cfg.Family, t.journal.frontends[key]
	now, is := t.frontends[key]
	if was.was && (!is || was.program != now.program) {
		putFrontend(f, del[frontendsSet].extend(), key, was.program)
	}
	if is && (!was.was || was.program != now.program) {
		putFrontend(f, add[frontendsSet].extend(), key, now.program)
	}
	for n := range max(len(was.slots), len(now.slots)) {
		if n < len(was.slots) && n < len(now.slots) && was.slots[n].sameTarget(now.slots[n]) {
			continue
		}
		if n < len(was.slots) {
			putBackend(f, del[backendsSet].extend(), key, uint32(n), was.slots[n])
		}
		if n < len(now.slots) {
			putBackend(f, add[backendsSet].extend(), key, uint32(n), now.slots[n])
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
	if len(t.journal.frontends) > smallJournal {
		t.journal = newJournal()
	}
	t.journal.exists = true
	clear(t.journal.frontends)
	clear(t.journal.clusterIPs)
	clear(t.journal.hairpins)
	clear(t.journal.programs)
	t.adopted = nil
}

// smallJournal is the number of changed frontends above which a journal's
// memory is not kept. Clearing a map costs as much as it once held.
const smallJournal = 1024

// Pending returns the number of frontends touched since the last commit.
func (t *Table) Pending() int { return len(t.journal.frontends) }
