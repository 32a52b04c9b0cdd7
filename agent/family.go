package agent

import (
	"context"
	"time"

	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/nft"
	"github.com/nearside/nearside/selector"
)

// family is all that the agent keeps for one IP family. Families share nothing,
// so that one's failure is not the other's.
type family struct {
	id    nft.Family
	table *nft.Table
	// adopted is true once the kernel's table has been read for the first time;
	// nothing is set in the table before.
	adopted bool
	// full is true while the kernel's state is not known for sure: the next
	// round has to read it back.
	full       bool
	quarantine *quarantine
	flows      *staleFlows // nil where nobody deletes flows
	retry      backoff
	cfg        nft.Config
}

func newFamily(cfg nft.Config) *family {
	return &family{
		id: cfg.Family, cfg: cfg, table: nft.NewTable(cfg), full: true,
		quarantine: newQuarantine(),
	}
}

// reconfigure begins a new table if the configuration is another one. All
// services have to be set again; endpoints keep their places.
func (f *family) reconfigure(cfg nft.Config) bool {
	if f.cfg == cfg {
		return false
	}
	present := f.table.Ruleset()
	f.cfg, f.table, f.full = cfg, nft.NewTable(cfg), true
	f.table.Adopt(present)
	return true
}

// adopt reads the kernel's table for the first time, so that endpoints keep the
// places they have there.
func (f *family) adopt(ctx context.Context, k Kernel) error {
	if f.adopted {
		return nil
	}
	found, err := k.ReadBack(ctx, f.id)
	if err != nil {
		return err
	}
	f.table.Adopt(found)
	f.adopted = true
	return nil
}

// set puts what was selected for a service into the table.
func (f *family) set(sel *selection, node selector.Node) []nft.Problem {
	f.quarantine.try(sel.service.Name)
	f.flows.note(sel.service.Name, sel.service, f.id)
	planned := sel.plan(f.id, node)
	if len(planned.Frontends) == 0 {
		f.table.Delete(planned.Name)
		return nil
	}
	return f.table.Set(planned)
}

// delete takes a service out of the table.
func (f *family) delete(name informer.Name) {
	f.quarantine.try(name)
	f.flows.note(name, nil, f.id)
	f.table.Delete(name.String())
}

// diff makes the transaction that brings the kernel to what the table wants,
// nil if it is there already. A full round compares with what the kernel has, a
// partial one relies on what it was given.
func (f *family) diff(ctx context.Context, k Kernel) (*nft.Transaction, error) {
	if !f.full {
		return f.table.Changes(), nil
	}
	found, err := k.ReadBack(ctx, f.id)
	if err != nil {
		return nil, err
	}
	return nft.Diff(found, f.table.Ruleset()), nil
}

// committed notes that the kernel has all that the table wants.
func (f *family) committed() {
	f.table.Committed()
	f.full = false
	f.retry.succeed()
	f.quarantine.acquit()
}

// nextAttempt is when the family needs a round even if nothing changes, zero
// for never.
func (f *family) nextAttempt() time.Time {
	next := earlier(f.retry.next, f.quarantine.next())
	if f.flows != nil {
		next = earlier(next, f.flows.retry.next)
	}
	return next
}
