package nft

import "strings"

// Transaction is a list of operations on one table that the kernel carries out
// all or not at all. Table.Changes and Diff make it; Conn.Apply sends it. A
// nil Transaction changes nothing.
type Transaction struct {
	// Family is the family of the table it works on.
	Family Family
	ops    []operation
	// generation, if not 0, is the kernel's generation on which the transaction
	// is based: if anything was committed since, it is refused.
	generation uint32
}

// operation is one step of a transaction. It becomes one netlink message, or
// several where it has many elements.
type operation struct {
	kind  opKind
	set   *Set
	chain *Chain
	elems records
}

type opKind uint8

const (
	opAddTable opKind = iota
	opDeleteTable
	opAddSet
	opDeleteSet
	opAddChain
	opFlushChain
	opDeleteChain
	opAddRules
	opAddElements
	opDeleteElements
	// opForget deletes those elements of a dynamic map whose data are not among
	// elems. Which they are is found out when the transaction is applied.
	opForget
)

// Size returns the number of objects and elements that the transaction adds,
// deletes or replaces.
func (tx *Transaction) Size() (n int) {
	if tx == nil {
		return 0
	}
	for _, op := range tx.ops {
		switch op.kind {
		case opAddElements, opDeleteElements:
			n += op.elems.count()
		case opAddRules:
			n += len(op.chain.Rules)
		case opForget:
		default:
			n++
		}
	}
	return n
}

// Unconditional returns the transaction without the condition that nothing was
// committed to the kernel since it was read: it is for a node on which other
// programs write rules all the time.
func (tx *Transaction) Unconditional() *Transaction {
	if tx == nil {
		return nil
	}
	free := *tx
	free.generation = 0
	return &free
}

func (tx *Transaction) orNil() *Transaction {
	if len(tx.ops) == 0 {
		return nil
	}
	return tx
}

func (tx *Transaction) createTable() { tx.ops = append(tx.ops, operation{kind: opAddTable}) }

func (tx *Transaction) deleteTable() { tx.ops = append(tx.ops, operation{kind: opDeleteTable}) }

func (tx *Transaction) addSet(s *Set) { tx.ops = append(tx.ops, operation{kind: opAddSet, set: s}) }

func (tx *Transaction) deleteSet(s *Set) {
	tx.ops = append(tx.ops, operation{kind: opDeleteSet, set: s})
}

// addChains adds chains and then their rules, which may go to any of them.
func (tx *Transaction) addChains(chains []*Chain) {
	for _, c := range chains {
		tx.ops = append(tx.ops, operation{kind: opAddChain, chain: c})
	}
	for _, c := range chains {
		tx.addRules(c)
	}
}

func (tx *Transaction) addRules(c *Chain) {
	if len(c.Rules) > 0 {
		tx.ops = append(tx.ops, operation{kind: opAddRules, chain: c})
	}
}

func (tx *Transaction) flushChain(c *Chain) {
	tx.ops = append(tx.ops, operation{kind: opFlushChain, chain: c})
}

// deleteChains empties chains and then deletes them, whatever goes to what.
func (tx *Transaction) deleteChains(chains []*Chain) {
	for _, c := range chains {
		tx.flushChain(c)
	}
	for _, c := range chains {
		tx.deleteChain(c)
	}
}

func (tx *Transaction) deleteChain(c *Chain) {
	tx.ops = append(tx.ops, operation{kind: opDeleteChain, chain: c})
}

func (tx *Transaction) addElements(s *Set, elems records) {
	if elems.count() > 0 {
		tx.ops = append(tx.ops, operation{kind: opAddElements, set: s, elems: elems})
	}
}

func (tx *Transaction) deleteElements(s *Set, elems records) {
	if elems.count() > 0 {
		tx.ops = append(tx.ops, operation{kind: opDeleteElements, set: s, elems: elems})
	}
}

// Text returns the transaction as commands for nft, one a line.
func (tx *Transaction) Text() string {
	if tx == nil {
		return ""
	}
	var b strings.Builder
	for _, op := range tx.ops {
		tx.writeOp(&b, op)
	}
	return b.String()
}

func (tx *Transaction) writeOp(b *strings.Builder, op operation) {
	table := tx.Family.String() + " " + TableName
	line := func(words ...string) { b.WriteString(strings.Join(words, " ") + "\n") }
	switch op.kind {
	case opAddTable:
		line("add table", table)
	case opDeleteTable:
		line("delete table", table)
	case opAddSet:
		line("add", op.set.noun(), table, op.set.Name, "{", op.set.decl.text(), "}")
	case opDeleteSet:
		line("delete", op.set.noun(), table, op.set.Name)
	case opAddChain:
		if base := op.chain.Base; base != nil {
			line("add chain", table, op.chain.Name, "{", base.text(), "}")
		} else {
			line("add chain", table, op.chain.Name)
		}
	case opFlushChain:
		line("flush chain", table, op.chain.Name)
	case opDeleteChain:
		line("delete chain", table, op.chain.Name)
	case opAddRules:
		for _, r := range op.chain.Rules {
			line("add rule", table, op.chain.Name, r.text)
		}
	case opAddElements:
		line("add element", table, op.set.Name, "{", op.set.elementsText(op.elems, true), "}")
	case opForget:
		line("# forget the clients in", table, op.set.Name, "whose endpoint is none of {", op.set.membersText(op.elems), "}")
	case opDeleteElements:
		line("delete element", table, op.set.Name, "{", op.set.elementsText(op.elems, false), "}")
	}
}

// text writes a declaration on one line.
func (d *setDecl) text() string {
	if d.dynamic {
		return d.typeLine + "; size " + utoa(clientsSize) + "; flags dynamic,timeout;"
	}
	return d.typeLine + ";"
}

// membersText writes endpoints, which are the data of a dynamic map.
func (s *Set) membersText(elems records) string {
	words := make([]string, elems.count())
	for i := range words {
		words[i] = fieldsText(s.decl.data, elems.key(i))
	}
	return strings.Join(words, ", ")
}

// elementsText writes elements on one line, without data where they are to be
// deleted.
func (s *Set) elementsText(elems records, withData bool) string {
	words := make([]string, elems.count())
	for i := range words {
		words[i] = s.keyText(elems.key(i))
		if withData && s.decl.isMap() {
			words[i] += " : " + s.dataText(elems.data(i))
		}
	}
	return strings.Join(words, ", ")
}
