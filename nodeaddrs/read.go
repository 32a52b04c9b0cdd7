package nodeaddrs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Bounds of reading everything.
const (
	quiet        = 20 * time.Millisecond // without a change, the queue is empty
	longestStorm = 2 * time.Second       // after which to read although changes go on
	readAttempts = 20                    // that the kernel refuses
	readPause    = 10 * time.Millisecond
)

// readAgain reads everything after changes were lost. What is still queued is
// from before the loss, and played upon a newer state would bring back what has
// gone since; so the queue is emptied first.
func (w *Watcher) readAgain(ctx context.Context, reason error) (*table, error) {
	w.opts.Log.Info("reading all addresses again", "reason", reason)
	for end := time.Now().Add(longestStorm); ; {
		emptied, err := w.empty(ctx, end)
		if err != nil {
			return nil, err
		}
		known, err := w.read(ctx)
		if err != nil || emptied {
			return known, err
		}
		// Changes come faster than they are thrown away. Whoever makes them
		// will stop some day.
		end = time.Now().Add(longestStorm)
	}
}

// empty throws queued changes away, until there are none or the time is over,
// and reports which.
func (w *Watcher) empty(ctx context.Context, end time.Time) (emptied bool, err error) {
	for time.Now().Before(end) {
		_, err := w.receive(ctx, time.Now().Add(quiet))
		switch {
		case err == nil, errors.Is(err, unix.ENOBUFS):
		case errors.Is(err, os.ErrDeadlineExceeded):
			return true, ctx.Err()
		default:
			return false, fmt.Errorf("watch addresses: receive changes: %w", err)
		}
	}
	return false, nil
}

// read asks the kernel for all interfaces and addresses. A list during which
// something changes may lack what did not change, so it is asked for until two
// lists agree. What changes later is in the queue.
func (w *Watcher) read(ctx context.Context) (*table, error) {
	var last *table
	for failed := 0; ; {
		next, err := w.list()
		switch {
		case err == nil && last != nil && last.equal(next):
			return next, nil
		case err == nil:
			last = next
		case failed == readAttempts:
			return nil, fmt.Errorf("read addresses: %w", err)
		default:
			failed++
			pause(ctx, readPause)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

func (w *Watcher) list() (*table, error) {
	requests, err := dumpRequests()
	if err != nil {
		return nil, err
	}
	t := newTable()
	for _, request := range requests {
		answers, err := w.asks.Execute(request)
		if err != nil {
			return nil, err
		}
		w.apply(t, answers)
	}
	return t, nil
}

// apply takes messages over into t. One that cannot be read costs only itself.
func (w *Watcher) apply(t *table, messages []netlink.Message) {
	for _, m := range messages {
		if err := t.apply(m); err != nil {
			w.opts.Log.Warn("cannot read what the kernel tells about addresses", "message", m.Header.Type, "error", err)
		}
	}
}

// pause waits, at most until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
