package conntrack

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"
)

// attempts is how often a list that the kernel interrupts is begun.
const attempts = 4

// list looks at the flows that pass a filter and returns the messages that
// delete the stale ones among them. With ErrInterrupted, those are right but
// may not be all.
func (c *Cleaner) list(ctx context.Context, f filter, ts targets) (looked int, deletions [][]byte, err error) {
	for range attempts {
		if err := ctx.Err(); err != nil {
			return looked, nil, err
		}
		deletions = nil
		err = c.listOnce(f, func(body []byte) {
			looked++
			if fl, ok := parseFlow(body); ok && ts.stale(fl) {
				deletions = append(deletions, deletion(fl))
			}
		})
		if !errors.Is(err, ErrInterrupted) {
			return looked, deletions, err
		}
	}
	return looked, deletions, err
}

// listOnce calls f for every flow that passes a filter.
func (c *Cleaner) listOnce(f filter, each func(body []byte)) error {
	ask := f.request()
	at := c.sequence(1)
	number(ask, at)
	var outcome error
	err := c.exchange(ask, at, at, func(m message) {
		if m.flags&unix.NLM_F_DUMP_INTR != 0 {
			outcome = ErrInterrupted
		}
		switch {
		case !m.ends():
			each(m.body)
		case m.err() != nil:
			outcome = m.err()
		}
	})
	if errors.Is(outcome, unix.EINTR) {
		outcome = ErrInterrupted
	}
	return errors.Join(err, outcome)
}
