package nft

import (
	"bytes"
	"context"
	"errors"

	"golang.org/x/sys/unix"
)

// forgetTries bounds how often a transaction is tried again because a client
// that was to be forgotten had timed out on its own meanwhile.
const forgetTries = 10

// applyForgetting applies a transaction that takes endpoints out of memories.
// The clients of those endpoints are looked up and deleted with it, and looked
// for once more afterwards: a packet may have been under way while the rules
// changed.
func (c *Conn) applyForgetting(ctx context.Context, tx *Transaction) error {
	for try := 0; ; try++ {
		resolved, err := c.resolve(tx)
		if err != nil {
			return err
		}
		err = c.transact(ctx, resolved)
		if err == nil {
			break
		}
		if !timedOut(err) || try == forgetTries {
			return err
		}
	}
	c.lookAgain(ctx, tx)
	return nil
}

// lookAgain forgets the clients that came while the transaction was committed.
// The transaction itself is done, so trouble here is no failure of it. Only a
// packet that was under way during the commit can have left a client behind.
func (c *Conn) lookAgain(ctx context.Context, tx *Transaction) {
	rest := &Transaction{Family: tx.Family}
	for _, op := range tx.ops {
		if op.kind == opForget {
			rest.ops = append(rest.ops, op)
		}
	}
	for range forgetTries {
		resolved, err := c.resolve(rest)
		if err == nil && len(resolved.ops) == 0 {
			return
		}
		if err == nil {
			err = c.transact(ctx, resolved)
		}
		if err != nil && !timedOut(err) && !errors.Is(err, errInterrupted) {
			return
		}
	}
}

// timedOut reports whether a client could not be deleted because it was gone.
func timedOut(err error) bool {
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, ErrOutOfStep) {
		return false
	}
	return e.Op == opNames[msgDeleteElement] && e.dynamic
}

// resolve puts the clients that are to be forgotten into a transaction.
func (c *Conn) resolve(tx *Transaction) (*Transaction, error) {
	out := &Transaction{Family: tx.Family, generation: tx.generation}
	for _, op := range tx.ops {
		if op.kind != opForget {
			out.ops = append(out.ops, op)
			continue
		}
		stale, err := c.strangers(tx.Family, op.set, &op.elems)
		if err != nil {
			return nil, err
		}
		out.deleteElements(op.set, stale)
	}
	return out, nil
}

// strangers returns the elements of a dynamic map whose endpoint is not among
// the members.
func (c *Conn) strangers(f Family, clients *Set, members *records) (records, error) {
	known := make(map[string]bool, members.count())
	for i := range members.count() {
		known[string(members.key(i))] = true
	}
	s := &Set{Name: clients.Name, decl: clients.decl, records: newRecords(&clients.decl)}
	stale := newRecords(&s.decl)
	// A list may lack elements while the kernel moves the map to a larger table,
	// so it is asked for until two have the same strangers.
	for range dumpTries {
		s.records = newRecords(&clients.decl)
		err := c.dumpElements(f, s)
		switch {
		case errors.Is(err, unix.ENOENT):
			return newRecords(&s.decl), nil // nobody is remembered
		case errors.Is(err, errInterrupted):
			continue
		case err != nil:
			return stale, wrapRead("list elements of", f.String()+" "+TableName+" "+s.Name, err)
		}
		found := newRecords(&s.decl)
		for i := range s.records.count() {
			if !known[string(s.records.data(i))] {
				found.append(s.records.at(i))
			}
		}
		if again := stale.buf != nil && bytes.Equal(found.buf, stale.buf); again || s.records.count() <= fewClients {
			return found, nil
		}
		stale = found
		if stale.buf == nil {
			stale.buf = []byte{}
		}
	}
	return stale, nil
}

// fewClients fit into the smallest table that the kernel makes, which it does
// not move while it holds them.
const fewClients = 2
