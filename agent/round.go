package agent

import (
	"context"
	"time"

	"github.com/nearside/nearside/health"
	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/nft"
)

// Round tells what one round did.
type Round struct {
	// Start and Duration say when the round took place.
	Start    time.Time
	Duration time.Duration
	// Selected is the number of services that were selected or deleted.
	Selected int
	// Services and Endpoints are how many the agent knows after the round;
	// an endpoint counts once for each service port.
	Services, Endpoints int
	// Families holds what was done for each IP family.
	Families []FamilyRound
	// Notices holds what there was to say about objects, each thing once.
	Notices []Notice

	selecting time.Duration // for all families together
}

// Err returns the first family's error, nil if all succeeded.
func (r *Round) Err() error {
	for _, f := range r.Families {
		if f.Err != nil {
			return f.Err
		}
	}
	return nil
}

// Changes is the number of changes made in the kernel, over all families.
func (r *Round) Changes() (n int) {
	for _, f := range r.Families {
		n += f.Changes
	}
	return n
}

// FamilyRound tells what one round did for one IP family.
type FamilyRound struct {
	Family nft.Family
	// Deferred is true if nothing was tried because the last failure is too
	// recent.
	Deferred bool
	// Full is true if the kernel's table was read back and compared.
	Full bool
	// End and Duration say when the family's part of the round took place.
	End      time.Time
	Duration time.Duration
	// Changes is the number of objects and elements that were added to or
	// deleted from the kernel's table.
	Changes int
	// Err is why the table could not be brought up to date.
	Err error
	// Repaired is the error of a partial attempt that made this round a full
	// one.
	Repaired error
	// Quarantined is the number of services that the kernel refuses.
	Quarantined int
}

// Kind returns "full" or "partial".
func (r *FamilyRound) Kind() string {
	if r.Full {
		return "full"
	}
	return "partial"
}

// round brings the tables up to date with what changed in the store. It is the
// list of the agent's steps; each returns what the next one needs.
func (a *Agent) round(ctx context.Context, k Kernel, changes informer.Changes) Round {
	start := a.now()
	r := Round{Start: start}
	a.changesWait(start)
	anew := a.adopt(ctx, k, &r) || !a.begun
	node := a.store.Node()
	anew = a.reconfigure(node) || anew
	a.begun = true
	a.placeNodePorts(node, changes.Node || anew)
	if changes.ServiceCIDRs || anew {
		a.placeServiceCIDRs(&r)
	}
	a.selectAndPlan(a.snapshot(changes, anew), &r)
	r.selecting = a.now().Sub(start)
	for _, f := range a.families {
		if f.adopted {
			fr := a.commit(ctx, k, f, &r)
			a.cleanFlows(ctx, f, &fr)
			r.Families = append(r.Families, fr)
		}
	}
	r.Duration = a.now().Sub(start)
	a.report(&r)
	return r
}

// reconfigure begins tables anew that depend on what the Node object says, and
// reports whether any was: all services have to be set again.
func (a *Agent) reconfigure(node informer.Node) (anew bool) {
	if !a.opts.NodeCIDRs {
		return false
	}
	for _, f := range a.families {
		if f.adopted && f.reconfigure(a.opts.tableConfig(f.id, node.PodCIDRs)) {
			anew = true
		}
	}
	return anew
}

// adopt reads the tables that could not be read before, and reports whether any
// was: that table has to be filled from the beginning.
func (a *Agent) adopt(ctx context.Context, k Kernel, r *Round) (adopted bool) {
	for _, f := range a.families {
		if f.adopted {
			continue
		}
		fr := FamilyRound{Family: f.id, Full: true, Deferred: f.retry.waiting(a.now())}
		if !fr.Deferred {
			began := a.now()
			fr.Err = f.adopt(ctx, k)
			fr.End = a.now()
			fr.Duration = fr.End.Sub(began)
		}
		if f.adopted {
			f.retry.succeed()
			adopted = true
			continue
		}
		if !fr.Deferred {
			f.retry.fail(fr.End)
		}
		r.Families = append(r.Families, fr)
	}
	return adopted
}

// selectAndPlan selects the services of the snapshot again and sets the result
// in the tables. It goes service by service, so that a full round holds the
// selections of one and not of all.
func (a *Agent) selectAndPlan(snap snapshot, r *Round) {
	r.Selected = len(snap.services)
	for _, f := range a.families {
		f.table.Grow(len(snap.services))
	}
	for i, name := range snap.services {
		if i%progressEvery == 0 {
			a.progress(Progress{Step: StepSelect, Done: i, Total: len(snap.services)})
		}
		service, ok := a.store.Service(name)
		if !ok {
			a.dropService(name)
			continue
		}
		a.check(service)
		sel := a.policies.selectService(service, snap.environment)
		a.memory.remember(sel)
		if sel.policy.countsNodes {
			a.store.WantNodes()
		}
		r.Notices = append(r.Notices, a.planService(sel, snap.environment)...)
	}
	r.Services, r.Endpoints = len(a.memory.services), a.memory.endpoints
}

// planService sets a selection in the tables and returns what there is to say.
func (a *Agent) planService(sel *selection, env environment) []Notice {
	name := sel.service.Name.String()
	notices, others := sel.notices(), []Notice(nil)
	for _, f := range a.families {
		if !f.adopted {
			continue
		}
		for _, p := range f.set(sel, env.node) {
			if p.Service == name {
				notices = append(notices, noticeOfTable(p))
			} else {
				others = append(others, noticeOfTable(p))
			}
		}
	}
	return append(a.memory.fresh(name, notices), others...)
}

func (a *Agent) dropService(name informer.Name) {
	a.memory.forget(name)
	a.checks.Delete(health.Name(name))
	for _, f := range a.families {
		if f.adopted {
			f.delete(name)
		}
	}
}
