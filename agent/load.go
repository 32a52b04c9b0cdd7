package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/nft"
)

// A Loader is a Source that can put all its objects into a store once and
// return, as informer.Manifests can.
type Loader interface {
	Load(ctx context.Context, s *informer.Store) error
}

// Load fills the agent's store from the source once, for Explain without Run.
// Once and Render do it by themselves. A source that is no Loader runs until it
// has listed everything once.
func (a *Agent) Load(ctx context.Context) error {
	if a.opts.Source == nil {
		return errNoSource
	}
	a.progress(Progress{Step: StepLoad})
	if l, ok := a.opts.Source.(Loader); ok {
		return l.Load(ctx, a.store)
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		ended <- a.opts.Source.Run(ctx, a.store)
	}()
	listed := a.store.Wait(ctx)
	cancel()
	if err := <-ended; listed != nil {
		if err == nil {
			err = listed
		}
		return fmt.Errorf("list objects: %w", err)
	}
	return nil
}

// Render loads the source's objects and returns the tables as text that nft -f
// reads, for IPv4 and then IPv6 unless Options.Families says otherwise. It needs
// no privilege and does not look at this machine.
func (a *Agent) Render(ctx context.Context) (string, error) {
	if err := a.Load(ctx); err != nil {
		return "", err
	}
	families := a.opts.Families
	if len(families) == 0 {
		families = nft.Families
	}
	a.setFamilies(families)
	for _, f := range a.families {
		f.adopted = true // there is no kernel to adopt from
	}
	r := Round{Start: a.now()}
	node := a.store.Node()
	a.reconfigure(node)
	a.placeNodePorts(node, true)
	a.placeServiceCIDRs(&r)
	a.selectAndPlan(a.snapshot(a.store.Take(), true), &r)
	a.report(&r)
	var b strings.Builder
	for _, f := range a.families {
		b.WriteString(f.table.Ruleset().Text())
	}
	return b.String(), nil
}
