package agent

import (
	"context"
	"errors"
	"log/slog"
)

// report is the last step of a round and the only one that logs or counts.
func (a *Agent) report(r *Round) {
	for _, n := range r.Notices {
		a.notify(n)
	}
	for _, f := range r.Families {
		a.feel(f)
		a.metrics.observe(f, r.selecting)
		a.logFamily(r, f)
	}
	a.metrics.services.Set(float64(r.Services))
	a.metrics.endpoints.Set(float64(r.Endpoints))
	a.metrics.proxy.nowhereHere(a.memory.noLocal)
	if a.opts.OnRound != nil {
		a.opts.OnRound(*r)
	}
}

// notify tells the log, the metrics and the caller about an object. The source
// calls it too, from its own goroutines.
func (a *Agent) notify(n Notice) {
	a.telling.Lock()
	defer a.telling.Unlock()
	a.log.LogAttrs(context.Background(), slog.LevelWarn, n.Message, n.attrs()...)
	a.metrics.count(n)
	if a.opts.OnNotice != nil {
		a.opts.OnNotice(n)
	}
}

func (a *Agent) logFamily(r *Round, f FamilyRound) {
	if f.Deferred {
		return
	}
	attrs := []slog.Attr{slog.String("family", f.Family.String()), slog.String("kind", f.Kind())}
	log := func(level slog.Level, message string, more ...slog.Attr) {
		a.log.LogAttrs(context.Background(), level, message, append(attrs, more...)...)
	}
	if f.Repaired != nil {
		log(slog.LevelWarn, "a partial transaction was refused, so the table was read back", slog.Any("error", f.Repaired))
	}
	if errors.Is(f.Err, context.Canceled) {
		return // the agent was told to stop
	}
	if f.Err != nil {
		log(slog.LevelError, "cannot bring the table up to date; the kernel keeps the last state, and it is tried again",
			slog.Any("error", f.Err))
		return
	}
	level := slog.LevelDebug
	if f.Full && a.running {
		level = slog.LevelInfo // Once tells its caller
	}
	log(level, "the table is up to date", slog.Int("services", r.Services), slog.Int("selected", r.Selected),
		slog.Int("changes", f.Changes), slog.Duration("took", f.Duration))
}
