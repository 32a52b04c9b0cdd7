package informer

import (
	"context"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// absentPause is how long at least a resource is left alone that the API server
// does not have; up to twice as long, so that nodes do not ask at once. An API
// server gets new resources only with a new version.
const absentPause = 10 * time.Minute

// forbiddenBackoff is the pause between attempts to read what the API server
// forbids: up to one to two minutes, for it takes a person to allow it.
func forbiddenBackoff() wait.Backoff {
	return wait.Backoff{Duration: 5 * time.Second, Factor: 2, Jitter: 1, Steps: 100, Cap: time.Minute}
}

// optional reflects a resource that a proxy can do without, from an API server
// that may not have it or may forbid to read it. A reflector would ask again
// every few seconds for ever, and an outage would be reported every minute.
type optional struct {
	*watched
	// without says what follows from its absence.
	without string
	log     *slog.Logger
	outage  *outage

	mu      sync.Mutex
	refusal metav1.StatusReason // empty while there is none
	backoff wait.Backoff
}

func newOptional(w *watched, without string, log *slog.Logger) *optional {
	return &optional{
		watched: w, without: without, log: log,
		outage: &outage{log: log, resource: w.resource}, backoff: forbiddenBackoff(),
	}
}

// run reflects the resource until ctx ends, with a new reflector after each
// refusal. What was known before a refusal stays.
func (o *optional) run(ctx context.Context, s *Store) {
	for ctx.Err() == nil {
		attempt, stop := context.WithCancel(ctx)
		o.reflect(attempt, s, func(ctx context.Context, opts metav1.ListOptions, err error) {
			if o.saw(ctx, opts, err) {
				stop()
			}
		})
		stop()
		select {
		case <-ctx.Done():
		case <-time.After(o.pause()):
		}
	}
}

// saw takes note of the outcome of one request, and reports whether there is no
// point in asking on.
func (o *optional) saw(ctx context.Context, opts metav1.ListOptions, err error) (stop bool) {
	if ctx.Err() != nil {
		return false
	}
	refused := apierrors.IsNotFound(err) || apierrors.IsForbidden(err)
	if refused && opts.SendInitialEvents != nil {
		return false // the reflector goes on with a list, which may be allowed
	}
	if !refused {
		o.outage.saw(ctx, opts, err)
		// A list proves nothing, for the watch that follows may be forbidden.
		if err == nil && opts.Watch {
			o.accepted()
		}
		return false
	}
	o.refused(apierrors.ReasonForError(err), err)
	return true
}

func (o *optional) accepted() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.refusal != "" {
		o.log.Info("the API server lets this resource be read now", "resource", o.resource)
	}
	o.refusal, o.backoff = "", forbiddenBackoff()
}

// refused says once why the resource cannot be read.
func (o *optional) refused(reason metav1.StatusReason, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.refusal == reason {
		return
	}
	o.refusal, o.backoff = reason, forbiddenBackoff()
	if reason == metav1.StatusReasonForbidden {
		o.log.Warn("the API server forbids to read a resource; allow list and watch of it",
			"resource", o.resource, "without", o.without, "error", err)
		return
	}
	o.log.Info("the API server does not have a resource", "resource", o.resource, "without", o.without)
}

// pause returns how long to wait after a refusal.
func (o *optional) pause() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.refusal == metav1.StatusReasonForbidden {
		return o.backoff.Step()
	}
	return wait.Jitter(absentPause, 1)
}
