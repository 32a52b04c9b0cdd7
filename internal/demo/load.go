package demo

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nearside/nearside/internal/netlab"
)

// load describes connections from one client to one service.
type load struct {
	host    *netlab.Host
	address string
	// workers make connections at the same time, each with a pause after each.
	workers  int
	pause    time.Duration
	patience time.Duration
}

// repeat makes connections until more says no or ctx ends, and calls record
// with each outcome and the time it began, from several goroutines at once. A
// connection that ctx interrupts counts for nothing.
func (l load) repeat(ctx context.Context, more func() bool, record func(start time.Time, o outcome)) error {
	var wg sync.WaitGroup
	errs := make([]error, l.workers)
	for i := range l.workers {
		wg.Go(func() {
			// The worker keeps its thread in the pod for as long as it lasts.
			errs[i] = l.host.Do(func() error {
				for ctx.Err() == nil && more() {
					start := time.Now()
					o := exchange(ctx, l.address, l.patience)
					if ctx.Err() == nil {
						record(start, o)
						time.Sleep(l.pause)
					}
				}
				return nil
			})
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// times makes n connections and calls progress after each.
func (l load) times(ctx context.Context, n int, progress func()) (*tally, error) {
	var made atomic.Int64
	var mu sync.Mutex
	sum := new(tally)
	err := l.repeat(ctx, func() bool { return made.Add(1) <= int64(n) }, func(_ time.Time, o outcome) {
		mu.Lock()
		sum.add(o)
		mu.Unlock()
		progress()
	})
	return sum, err
}
