package nft

// Diff returns the transaction that turns one ruleset into another of the same
// family, or nil if there is nothing to do. A nil ruleset stands for an absent
// table.
//
// Where from was read from the kernel, the transaction holds for the kernel as
// it was then: see ErrStale.
func Diff(from, to *Ruleset) *Transaction {
	tx := &Transaction{}
	if from != nil {
		tx.Family, tx.generation = from.Family, from.generation
	}
	if to != nil {
		tx.Family = to.Family
	}
	switch {
	case from == nil && to == nil:
	case from == nil:
		tx.create(to)
	case to == nil:
		tx.deleteTable()
	case !changeable(from, to):
		tx.deleteTable()
		tx.create(to)
	default:
		tx.change(from, to)
	}
	return tx.orNil()
}

func (tx *Transaction) create(to *Ruleset) {
	tx.createTable()
	for _, s := range to.Sets {
		tx.addSet(s)
	}
	tx.addChains(to.Chains)
	for _, s := range to.Sets {
		tx.addElements(s, s.records)
	}
}

// changeable reports whether from can become to by changing chains, rules and
// elements. A set declared otherwise or a base chain hung elsewhere cannot be
// changed: then the table is made anew, in one transaction.
func changeable(from, to *Ruleset) bool {
	if from.foreign {
		return false
	}
	before := from.sets()
	for _, s := range to.Sets {
		if old := before[s.Name]; old != nil && old.decl != s.decl {
			return false
		}
	}
	old := from.chains()
	for _, c := range to.Chains {
		if o := old[c.Name]; o != nil && !equalBase(o.Base, c.Base) {
			return false
		}
	}
	return true
}

func equalBase(a, b *BaseChain) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func (tx *Transaction) change(from, to *Ruleset) {
	before, after := from.sets(), to.sets()
	for _, s := range to.Sets {
		if before[s.Name] == nil {
			tx.addSet(s)
		}
	}
	gone := tx.changeChains(from, to)
	var adds []operation
	for _, s := range to.Sets {
		old := before[s.Name]
		if old == nil {
			old = &Set{records: newRecords(&s.decl)}
		}
		if s.decl.dynamic {
			continue
		}
		del, add := diffRecords(old.records, s.records)
		tx.deleteElements(s, del)
		if name, ok := memoryOf(s.Name); ok && del.count() > 0 {
			clients, _ := memorySets(tx.Family, name)
			tx.ops = append(tx.ops, operation{kind: opForget, set: clients, elems: s.records})
		}
		adds = append(adds, operation{kind: opAddElements, set: s, elems: add})
	}
	for _, op := range adds {
		tx.addElements(op.set, op.elems)
	}
	// Rules use sets and maps use chains: rules go first, chains last.
	for _, c := range gone {
		tx.flushChain(c)
	}
	for _, s := range from.Sets {
		if after[s.Name] == nil {
			tx.deleteSet(s)
		}
	}
	for _, c := range gone {
		tx.deleteChain(c)
	}
}

// changeChains adds new chains, writes changed ones anew, and returns those
// that have to go once no element leads to them any more.
func (tx *Transaction) changeChains(from, to *Ruleset) (gone []*Chain) {
	old, wanted := from.chains(), to.chains()
	var added []*Chain
	for _, c := range to.Chains {
		if old[c.Name] == nil {
			added = append(added, c)
		}
	}
	tx.addChains(added)
	for _, c := range to.Chains {
		if o := old[c.Name]; o != nil && !equalRules(o.Rules, c.Rules) {
			tx.flushChain(c)
			tx.addRules(c)
		}
	}
	for _, c := range from.Chains {
		if wanted[c.Name] == nil {
			gone = append(gone, c)
		}
	}
	return gone
}

// equalRules compares rules as they were read from the kernel, or as they were
// made, with rules as they are wanted.
func equalRules(have, want []Rule) bool {
	if len(have) != len(want) {
		return false
	}
	for i := range want {
		if !equalAttrs(have[i].kept, want[i].kept) {
			return false
		}
	}
	return true
}
