package informer

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// watched is one resource of the API that is reflected into a Store.
type watched struct {
	kind     kind
	resource string
	example  runtime.Object
	client   any
	list     cache.ListWithContextFunc
	watch    cache.WatchFuncWithContext
	// labels and fields select on the server what is worth sending.
	labels, fields string
	convert        func(object any, node string) (change, bool)
}

// run reflects the resource until ctx ends.
func (w *watched) run(ctx context.Context, s *Store, log *slog.Logger) {
	w.reflect(ctx, s, (&outage{log: log, resource: w.resource}).saw)
}

// reflect reflects the resource until ctx ends, and tells the outcome of each
// request. Options of those that begin a watch have Watch set.
func (w *watched) reflect(ctx context.Context, s *Store, saw func(context.Context, metav1.ListOptions, error)) {
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			w.choose(&opts)
			list, err := w.list(ctx, opts)
			saw(ctx, opts, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			w.choose(&opts)
			opts.Watch = true
			events, err := w.watch(ctx, opts)
			saw(ctx, opts, err)
			return events, err
		},
	}
	reflector := cache.NewReflectorWithOptions(
		cache.ToListWatcherWithWatchListSemantics(lw, w.client), w.example, &reflected{watched: w, store: s},
		cache.ReflectorOptions{Name: "nearside/" + w.resource, Backoff: watchBackoff(), Clock: clockUntil{ended: func(f func()) func() bool { return context.AfterFunc(ctx, f) }}},
	)
	reflector.RunWithContext(ctx)
}

func (w *watched) choose(opts *metav1.ListOptions) {
	opts.LabelSelector = w.labels
	opts.FieldSelector = w.fields
}

// reflected is where a reflector writes: no cache, but the conversion on the
// way into the Store.
type reflected struct {
	*watched
	store *Store
}

var _ cache.TransformingStore = (*reflected)(nil)

// Add implements cache.ReflectorStore.
func (r *reflected) Add(object any) error { return r.Update(object) }

// Update implements cache.ReflectorStore.
func (r *reflected) Update(object any) error {
	c, err := r.change(object)
	if err == nil {
		r.store.update([]change{c}, nil)
	}
	return err
}

// Delete implements cache.ReflectorStore. The server also sends a deletion for
// an object that the selectors do not choose any more.
func (r *reflected) Delete(object any) error {
	c, err := r.change(object)
	if err == nil {
		r.store.update([]change{gone(c.key)}, nil)
	}
	return err
}

// Replace implements cache.ReflectorStore. It is called with each complete list.
func (r *reflected) Replace(objects []any, _ string) error {
	changes := make([]change, 0, len(objects))
	for _, object := range objects {
		c, err := r.change(object)
		if err != nil {
			return err
		}
		changes = append(changes, c)
	}
	r.store.update(changes, []kind{r.kind})
	return nil
}

// Resync implements cache.ReflectorStore. There is nothing to tell again.
func (r *reflected) Resync() error { return nil }

// Transformer implements cache.TransformingStore: while a first list is being
// streamed, its objects are converted as they arrive.
func (r *reflected) Transformer() cache.TransformFunc {
	return func(object any) (any, error) { return r.change(object) }
}

func (r *reflected) change(object any) (change, error) {
	if c, ok := object.(change); ok {
		return c, nil
	}
	c, ok := r.convert(object, r.store.opts.NodeName)
	if !ok {
		return change{}, fmt.Errorf("convert one of %s: got a %T, want a %T", r.resource, object, r.example)
	}
	return c, nil
}

// clockUntil is the real clock, except that waiting ends when the source does.
// A reflector that cannot stream its first list sleeps in a way that ignores its
// context, and would hold up the end of the program by as much as a full pause.
type clockUntil struct {
	clock.RealClock
	// ended calls a function at the end, unless stopped before.
	ended func(call func()) (stop func() bool)
}

// After implements clock.Clock.
func (c clockUntil) After(d time.Duration) <-chan time.Time {
	fired := make(chan time.Time, 1)
	fire := func() {
		select {
		case fired <- time.Now():
		default:
		}
	}
	stop := c.ended(fire)
	time.AfterFunc(d, func() {
		stop()
		fire()
	})
	return fired
}
