package agent

import (
	"context"
	"sync"
)

// alarm wakes the loop of rounds for a reason that is not in the store.
type alarm struct {
	mu   sync.Mutex
	rung bool
	wake context.CancelFunc
}

// ring wakes whoever waits with the context that arm returned, or else the next
// one to ask for it.
func (a *alarm) ring() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rung = true
	if a.wake != nil {
		a.wake()
	}
}

// arm returns a context that ends when the alarm rings, at once if it has rung
// since the last time it was stopped. stop has to be called, and reports whether
// it rang.
func (a *alarm) arm(ctx context.Context) (armed context.Context, stop func() bool) {
	armed, cancel := context.WithCancel(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wake = cancel
	if a.rung {
		cancel()
	}
	return armed, func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		rung := a.rung
		a.rung, a.wake = false, nil
		cancel()
		return rung
	}
}
