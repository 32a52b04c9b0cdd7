package health

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"
)

// change is a Service whose listeners may have to change, with what it wants
// now: the zero Spec for nothing.
type change struct {
	name Name
	spec Spec
}

// desk holds the listeners of one call of Run, which alone uses it.
type desk struct {
	s       *Server
	places  map[Name]map[spot]*place
	failing map[*place]struct{}
	holders map[netip.AddrPort]Name
	// running counts every goroutine and every connection.
	running sync.WaitGroup
}

// place is a spot of a Service: it listens, or it fails and waits.
type place struct {
	service  Name
	spot     spot
	listener *listener
	told     string        // the failure that was reported last
	delay    time.Duration // before the next attempt
	next     time.Time     // of the next attempt, zero for at once
}

func newDesk(s *Server) *desk {
	return &desk{
		s:       s,
		places:  make(map[Name]map[spot]*place),
		failing: make(map[*place]struct{}),
		holders: make(map[netip.AddrPort]Name),
	}
}

// reconcile makes the listeners what they should be and returns when to try
// again what failed, zero for never. It closes before it opens, so that ports
// may change hands within one call.
func (d *desk) reconcile(ctx context.Context) time.Time {
	changes, addrs := d.s.take()
	freed := false
	for _, c := range changes {
		freed = d.drop(c, addrs) || freed
	}
	for _, c := range changes {
		d.add(c, addrs)
	}
	moved := make(map[Name]struct{}, len(changes))
	for _, c := range changes {
		moved[c.name] = struct{}{}
	}
	now := time.Now()
	for _, p := range d.due(now, freed) {
		if d.try(ctx, p, now) {
			moved[p.service] = struct{}{}
		}
	}
	for name := range moved {
		d.s.show(name, d.listening(name))
	}
	return d.nextAttempt()
}

// drop closes what a Service does not want any more, and reports whether that
// made a port free. A listener that has ended by itself is to be opened again.
func (d *desk) drop(c change, addrs []netip.Addr) (freed bool) {
	wanted := spots(c.spec, addrs)
	for sp, p := range d.places[c.name] {
		switch {
		case !slices.Contains(wanted, sp):
			freed = freed || p.listener != nil
			d.close(p)
			delete(d.failing, p)
			delete(d.places[c.name], sp)
		case p.listener != nil && p.listener.hasEnded():
			d.s.opts.Log.Error("a health check listener has ended, opening it again",
				"service", c.name.String(), "address", sp.at.String(), "error", p.listener.err)
			d.close(p)
			d.failing[p] = struct{}{}
		}
	}
	if len(d.places[c.name]) == 0 {
		delete(d.places, c.name)
	}
	return freed
}

// add notes what a Service wants and has not got.
func (d *desk) add(c change, addrs []netip.Addr) {
	for _, sp := range spots(c.spec, addrs) {
		if d.places[c.name] == nil {
			d.places[c.name] = make(map[spot]*place)
		}
		if d.places[c.name][sp] == nil {
			p := &place{service: c.name, spot: sp}
			d.places[c.name][sp] = p
			d.failing[p] = struct{}{}
		}
	}
}

// due returns what to try now, in a stable order: all that fails after a port
// has become free, otherwise what has waited long enough.
func (d *desk) due(now time.Time, all bool) []*place {
	var due []*place
	for p := range d.failing {
		if all || !p.next.After(now) {
			due = append(due, p)
		}
	}
	slices.SortFunc(due, func(a, b *place) int {
		return cmp.Or(compareNames(a.service, b.service), a.spot.at.Compare(b.spot.at))
	})
	return due
}

// try opens a listener and reports whether it could.
func (d *desk) try(ctx context.Context, p *place, now time.Time) bool {
	if p.spot.missing {
		d.fail(p, now, ErrNoAddress)
		return false
	}
	if holder, held := d.holders[p.spot.at]; held {
		d.failHeld(p, now, holder)
		return false
	}
	l, err := d.s.opts.Listen(ctx, network(p.spot.at.Addr()), p.spot.at.String())
	if err != nil {
		d.fail(p, now, err)
		return false
	}
	p.listener = d.s.serve(p.service, p.spot.at.Addr(), l, &d.running)
	p.told, p.delay, p.next = "", 0, time.Time{}
	d.holders[p.spot.at] = p.service
	delete(d.failing, p)
	d.s.opts.Log.Info("answering health checks", "service", p.service.String(), "address", p.spot.at.String())
	return true
}

func (d *desk) fail(p *place, now time.Time, err error) {
	d.report(p, now, &ListenError{Service: p.service, Address: p.spot.at, Err: err})
}

func (d *desk) failHeld(p *place, now time.Time, holder Name) {
	d.report(p, now, &ListenError{Service: p.service, Address: p.spot.at, Holder: holder, Err: syscall.EADDRINUSE})
}

// report sets the next attempt, and tells of a failure unless it was told.
func (d *desk) report(p *place, now time.Time, err *ListenError) {
	p.delay = min(max(2*p.delay, d.s.opts.FirstRetry), d.s.opts.LongestRetry)
	p.next = now.Add(p.delay)
	text := err.Error()
	if text == p.told {
		return
	}
	p.told = text
	d.s.opts.Log.Warn("cannot answer health checks, trying again", "service", p.service.String(),
		"address", p.spot.at.String(), "error", err, "wait", p.delay)
	d.s.opts.OnFailure(p.service, err)
}

// nextAttempt is the earliest time at which something that fails is to be tried.
// A family without addresses gets none before the addresses change.
func (d *desk) nextAttempt() time.Time {
	var next time.Time
	for p := range d.failing {
		if !p.spot.missing && (next.IsZero() || p.next.Before(next)) {
			next = p.next
		}
	}
	return next
}

// listening returns where the port of a Service listens, in order.
func (d *desk) listening(name Name) []netip.AddrPort {
	var at []netip.AddrPort
	for sp, p := range d.places[name] {
		if p.listener != nil {
			at = append(at, sp.at)
		}
	}
	slices.SortFunc(at, netip.AddrPort.Compare)
	return at
}

// close frees a place's port.
func (d *desk) close(p *place) {
	if p.listener == nil {
		return
	}
	p.listener.close(&d.running)
	p.listener = nil
	delete(d.holders, p.spot.at)
}

// closeAll closes everything and waits for it.
func (d *desk) closeAll() {
	for _, places := range d.places {
		for _, p := range places {
			d.close(p)
		}
	}
	d.running.Wait()
}
