package informer

import (
	"context"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// outageReminder is how often an outage that goes on is logged.
const outageReminder = time.Minute

// outage logs the beginning and the end of a time in which a resource cannot
// be read, and a reminder now and then.
type outage struct {
	log      *slog.Logger
	resource string

	mu     sync.Mutex
	since  time.Time // zero while all is well
	logged time.Time
}

// saw takes note of the outcome of one request.
func (o *outage) saw(ctx context.Context, opts metav1.ListOptions, err error) {
	if ctx.Err() != nil || expected(opts, err) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	switch {
	case err == nil && !o.since.IsZero():
		o.log.Info("reading from the API server works again", "resource", o.resource,
			"away", now.Sub(o.since).Round(time.Second))
		o.since = time.Time{}
	case err != nil && o.since.IsZero():
		o.since, o.logged = now, now
		o.log.Warn("cannot read from the API server; the last known state stays in force",
			"resource", o.resource, "error", err)
	case err != nil && now.Sub(o.logged) >= outageReminder:
		o.logged = now
		o.log.Warn("still cannot read from the API server; the last known state stays in force",
			"resource", o.resource, "away", now.Sub(o.since).Round(time.Second), "error", err)
	}
}

// expected tells errors that are a normal part of watching from others: the
// server forgot where a watch was, or does not stream lists. A reflector goes
// on with a list.
func expected(opts metav1.ListOptions, err error) bool {
	streaming := opts.SendInitialEvents != nil
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) ||
		apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) ||
		streaming && (apierrors.IsInvalid(err) || apierrors.IsBadRequest(err))
}

// debugOnly lowers every record to debug level.
type debugOnly struct{ slog.Handler }

// Enabled implements slog.Handler.
func (d debugOnly) Enabled(ctx context.Context, level slog.Level) bool {
	return d.Handler.Enabled(ctx, min(level, slog.LevelDebug))
}

// Handle implements slog.Handler. Whoever logs an error does not always ask
// first whether anybody wants to know.
func (d debugOnly) Handle(ctx context.Context, r slog.Record) error {
	r.Level = min(r.Level, slog.LevelDebug)
	if !d.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return d.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (d debugOnly) WithAttrs(attrs []slog.Attr) slog.Handler {
	return debugOnly{d.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (d debugOnly) WithGroup(name string) slog.Handler {
	return debugOnly{d.Handler.WithGroup(name)}
}
