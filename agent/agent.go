package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/nearside/nearside/health"
	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/nft"
)

// Agent keeps the kernel's tables of one node equal to what selectors answer.
// It serves for one call of Run, Once or Render. While Run runs, Explain, Health
// and the handlers may be called from any goroutine.
type Agent struct {
	opts     Options
	log      *slog.Logger
	store    *informer.Store
	policies *policies
	metrics  *metrics
	now      func() time.Time

	// What follows belongs to the goroutine that runs rounds.
	families []*family
	memory   *memory
	served   []netip.Addr // that serve node ports
	flows    Flows
	begun    bool // a round has taken place
	running  bool // by Run

	host   hostAddrs
	alarm  alarm
	checks *health.Server

	telling sync.Mutex // one notice at a time

	mu     sync.Mutex
	pulses map[nft.Family]*pulse
}

// New checks the options and returns an agent that has done nothing yet. Its
// error says what to do about each option that is not valid.
func New(opts Options) (*Agent, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	a := &Agent{
		opts:     opts,
		log:      opts.Log,
		policies: newPolicies(opts.Selectors, opts.DefaultPolicy),
		metrics:  newMetrics(),
		now:      time.Now,
		memory:   newMemory(),
		pulses:   make(map[nft.Family]*pulse),
	}
	a.checks = a.newChecks()
	a.store = informer.NewStore(informer.StoreOptions{
		NodeName:  opts.NodeName,
		Log:       opts.Log,
		OnProblem: func(p informer.Problem) { a.notify(noticeOfSource(p)) },
	})
	return a, nil
}

// Run keeps the tables up to date until ctx ends, and then returns nil. The
// tables stay as they are. It returns an error at once where it cannot work at
// all: without permission, without nf_tables, or when the source gives up. All
// other failures are logged, shown by Health and tried again.
//
// The kernel is reached in the network namespace of the calling thread. All
// goroutines that Run starts have ended when it returns.
func (a *Agent) Run(ctx context.Context) error {
	if a.opts.Source == nil {
		return errNoSource
	}
	err := a.run(ctx)
	if ended := ctx.Err(); ended != nil && errors.Is(err, ended) {
		return nil // told to stop before it had begun
	}
	return err
}

func (a *Agent) run(ctx context.Context) error {
	k, release, err := a.openKernel()
	if err != nil {
		return err
	}
	defer release()
	if err := a.start(ctx, k); err != nil {
		return err
	}
	a.running = true
	a.log.Info("running", "node", a.opts.NodeName, "families", a.familyNames())
	a.warnOfOptions()
	var background sync.WaitGroup
	defer background.Wait()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if a.opts.Kernel == nil {
		if err := a.watchAddrs(ctx, &background); err != nil {
			return err
		}
	}
	if err := a.serve(ctx, &background); err != nil {
		return err
	}
	background.Go(func() {
		if err := a.checks.Run(ctx); err != nil {
			a.log.Error("health checks are not served any more", "error", err)
		}
	})
	background.Go(func() {
		if err := a.opts.Source.Run(ctx, a.store); err != nil && ctx.Err() == nil {
			stop(fmt.Errorf("follow the source of objects: %w", err))
		}
	})
	a.loop(ctx, k)
	if cause := context.Cause(ctx); !errors.Is(cause, ctx.Err()) {
		return cause
	}
	return nil
}

var errNoSource = errors.New("options have no source: give one, such as informer.Manifests or informer.Kubernetes")

// Once loads the source's objects, brings the tables up to date in one full
// round, and returns what was done. Its error is the first family's, or that of
// the source, in which case the kernel was not touched.
func (a *Agent) Once(ctx context.Context) (Round, error) {
	k, release, err := a.openKernel()
	if err != nil {
		return Round{}, err
	}
	defer release()
	// What the kernel does not allow is known before anything else is said.
	if err := a.start(ctx, k); err != nil {
		return Round{}, err
	}
	if err := a.Load(ctx); err != nil {
		return Round{}, err
	}
	if a.opts.Kernel == nil {
		if err := a.readAddrs(ctx); err != nil {
			return Round{}, err
		}
	}
	r := a.round(ctx, k, a.store.Take())
	return r, r.Err()
}

// start sets up the families and reads their tables for the first time. It is
// an error if none can be read; one that cannot is tried again with the rounds.
func (a *Agent) start(ctx context.Context, k Kernel) error {
	a.setFamilies(a.servedFamilies())
	failed := make(map[nft.Family]error)
	for _, f := range a.families {
		if err := f.adopt(ctx, k); err != nil {
			failed[f.id] = err
			f.retry.fail(a.now())
		}
	}
	if len(failed) == len(a.families) {
		return failed[a.families[0].id]
	}
	for f, err := range failed {
		a.log.Error("cannot read the kernel's table; it is tried again", "family", f.String(), "error", err)
	}
	return nil
}

func (a *Agent) familyNames() (names []string) {
	for _, f := range a.families {
		names = append(names, f.id.String())
	}
	return names
}

// warnOfOptions says what an operator may not have meant.
func (a *Agent) warnOfOptions() {
	for _, f := range a.families {
		if !a.opts.tellsPods(f.id) && !a.opts.MasqueradeAll {
			a.log.Warn("no cluster CIDR of this IP family, so connections from outside the cluster are not masqueraded",
				"family", f.id.String())
		}
	}
}

func (a *Agent) servedFamilies() []nft.Family {
	if len(a.opts.Families) > 0 {
		return a.opts.Families
	}
	if !kernelHasIPv6() {
		a.log.Info("the kernel does not serve IPv6, so only IPv4 is programmed")
		return []nft.Family{nft.IPv4}
	}
	return nft.Families
}

func (a *Agent) setFamilies(served []nft.Family) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.families = nil
	for _, f := range served {
		family := newFamily(a.opts.tableConfig(f, nil))
		if a.flows != nil {
			family.flows = newStaleFlows()
		}
		a.families = append(a.families, family)
		a.pulses[f] = &pulse{}
	}
}

// loop runs rounds until ctx ends.
func (a *Agent) loop(ctx context.Context, k Kernel) {
	listed := false
	for a.waitForWork(ctx, listed) {
		listed = true
		a.round(ctx, k, a.store.Take())
		if !pause(ctx, a.opts.MinSyncPeriod) {
			return
		}
	}
}

// waitForWork waits until the store has changes or it is time for another
// attempt, and reports false when ctx has ended. Before the first complete list
// there are no attempts: a part of the objects must never reach the kernel.
func (a *Agent) waitForWork(ctx context.Context, listed bool) bool {
	if !listed {
		return a.store.Wait(ctx) == nil
	}
	until, stop := a.alarm.arm(ctx)
	defer stop()
	if next := a.nextAttempt(); !next.IsZero() {
		var cancel context.CancelFunc
		until, cancel = context.WithDeadline(until, next)
		defer cancel()
	}
	return a.store.Wait(until) == nil || ctx.Err() == nil
}

func (a *Agent) nextAttempt() (t time.Time) {
	for _, f := range a.families {
		t = earlier(t, f.nextAttempt())
	}
	return t
}

// pause waits and reports whether it could do so to the end.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
