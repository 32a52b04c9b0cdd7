package agent

import (
	"time"

	"github.com/nearside/nearside/informer"
)

// quarantine holds the services of one family that the kernel refuses. Each is
// left out of the table and gets a trial when it changes or its time has come;
// nobody else waits for it.
type quarantine struct {
	held map[informer.Name]*hold
}

// hold is a service in quarantine.
type hold struct {
	backoff
	// onTrial is true while what the service wants is part of the table again
	// and the kernel has not judged it yet.
	onTrial bool
	err     error
}

func newQuarantine() *quarantine { return &quarantine{held: make(map[informer.Name]*hold)} }

// add puts a service into quarantine, or back into it for longer. It reports
// whether that is news: a service that fails its trial for the same reason as
// before is none.
func (q *quarantine) add(name informer.Name, err error, now time.Time) (news bool) {
	h := q.held[name]
	news = h == nil || h.err.Error() != err.Error()
	if h == nil {
		h = &hold{}
		q.held[name] = h
	}
	h.fail(now)
	h.onTrial, h.err = false, err
	return news
}

// try starts a trial if the service is in quarantine.
func (q *quarantine) try(name informer.Name) {
	if h := q.held[name]; h != nil {
		h.onTrial = true
	}
}

// tried reports whether the service is on trial.
func (q *quarantine) tried(name informer.Name) bool {
	h := q.held[name]
	return h != nil && h.onTrial
}

// acquit lets all services on trial go: the kernel took them.
func (q *quarantine) acquit() {
	for name, h := range q.held {
		if h.onTrial {
			delete(q.held, name)
		}
	}
}

// due returns the services whose time for a trial has come, in no order.
func (q *quarantine) due(now time.Time) (names []informer.Name) {
	for name, h := range q.held {
		if !h.onTrial && !h.waiting(now) {
			names = append(names, name)
		}
	}
	return names
}

// next is the time of the next trial, zero for never.
func (q *quarantine) next() (t time.Time) {
	for _, h := range q.held {
		if !h.onTrial {
			t = earlier(t, h.backoff.next)
		}
	}
	return t
}

// size is the number of services that are held and not on trial.
func (q *quarantine) size() (n int) {
	for _, h := range q.held {
		if !h.onTrial {
			n++
		}
	}
	return n
}
