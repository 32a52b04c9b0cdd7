package agent

import "time"

// The waits between attempts after a failure: from the first to the longest,
// each twice the one before. kube-proxy waits 30 seconds every time.
const (
	firstRetry   = time.Second
	longestRetry = 30 * time.Second
)

// backoff says when to try again what failed.
type backoff struct {
	delay time.Duration
	next  time.Time // zero while nothing has failed
}

// fail notes a failure at the given time and sets the next attempt.
func (b *backoff) fail(now time.Time) {
	b.delay = min(max(2*b.delay, firstRetry), longestRetry)
	b.next = now.Add(b.delay)
}

// succeed forgets all failures.
func (b *backoff) succeed() { *b = backoff{} }

// waiting reports whether it is too early for the next attempt.
func (b *backoff) waiting(now time.Time) bool { return b.next.After(now) }

// earlier returns the earlier of two times; zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
