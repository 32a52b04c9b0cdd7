package nft

import (
	"context"
	"errors"
)

// While a packet walks through the rules of one generation, its lookups in maps
// already see what a commit has just brought. A verdict that leads to a chain
// of the same commit would send such a packet into a chain that is still empty
// for it, and from there untranslated out of the node. So chains are made first,
// in a commit of their own in which nothing leads to them, and what leads to
// them comes second.

// split takes out of a transaction what has to be there before the rest; nil if
// there is nothing. A new table needs no preparation: no packet walks in it.
func (tx *Transaction) split() (first, rest *Transaction) {
	added := map[*Chain]bool{}
	for _, op := range tx.ops {
		switch op.kind {
		case opAddTable:
			return nil, tx
		case opAddChain:
			added[op.chain] = true
		}
	}
	if len(added) == 0 || len(added) == len(tx.ops) {
		return nil, tx
	}
	first = &Transaction{Family: tx.Family, generation: tx.generation}
	rest = &Transaction{Family: tx.Family, generation: tx.generation}
	if rest.generation != 0 {
		rest.generation++ // by the first
	}
	for _, op := range tx.ops {
		if op.kind == opAddSet || op.kind == opAddChain || op.kind == opAddRules && added[op.chain] {
			first.ops = append(first.ops, op)
		} else {
			rest.ops = append(rest.ops, op)
		}
	}
	if len(rest.ops) == 0 {
		return nil, tx
	}
	return first, rest
}

// undo returns what takes a preparation back.
func (tx *Transaction) undo() *Transaction {
	back := &Transaction{Family: tx.Family}
	var chains []*Chain
	for _, op := range tx.ops {
		if op.kind == opAddChain {
			chains = append(chains, op.chain)
		}
	}
	back.deleteChains(chains)
	for _, op := range tx.ops {
		if op.kind == opAddSet {
			back.deleteSet(op.set)
		}
	}
	return back
}

// transact has the kernel carry out a transaction. If it refuses, everything is
// as before.
func (c *Conn) transact(ctx context.Context, tx *Transaction) error {
	first, rest := tx.split()
	if first == nil {
		return c.commit(ctx, tx)
	}
	if err := c.commit(ctx, first); err != nil {
		return err
	}
	err := c.commit(context.WithoutCancel(ctx), rest)
	if err != nil {
		err = errors.Join(err, c.commit(context.WithoutCancel(ctx), first.undo()))
	}
	return err
}
