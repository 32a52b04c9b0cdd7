package informer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle is how long nothing must happen on disk before files are read: an
	// editor writes a file in several steps, a volume is replaced in several.
	settle = 100 * time.Millisecond
	// settleMost is how long reading is put off while things keep happening.
	settleMost = 2 * time.Second
)

// manifestWatch waits for changes on disk.
type manifestWatch struct {
	m  *Manifests
	fs *fsnotify.Watcher
	// plan are the folders that are watched.
	plan watchPlan
	// complained are the folders of which it was logged that they cannot be
	// watched.
	complained map[string]bool
	// dirty are the paths that something happened to, all are all of them.
	dirty map[string]bool
	all   bool

	timer    *time.Timer
	deadline time.Time // zero while nothing waits to be read
}

func newManifestWatch(m *Manifests) (*manifestWatch, error) {
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch manifests: %w", err)
	}
	w := &manifestWatch{
		m: m, fs: fs, plan: m.planWatch(), complained: make(map[string]bool),
		dirty: make(map[string]bool), timer: time.NewTimer(time.Hour),
	}
	w.timer.Stop()
	for dir := range w.plan {
		// What cannot be watched now is tried again, and logged, in follow.
		_ = fs.Add(dir)
	}
	return w, nil
}

func (w *manifestWatch) close() { _ = w.fs.Close() }

// run reads what changes until ctx ends.
func (w *manifestWatch) run(ctx context.Context, s *Store, r *reader) error {
	broken := make(map[string]string)
	w.follow(r)
	for {
		select {
		case <-ctx.Done():
			return nil
		case event := <-w.fs.Events:
			if w.matters(event) {
				w.dirty[event.Name] = true
				w.soon()
			}
		case err := <-w.fs.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				r.log.Warn("trouble with watching manifests; reading all of them again", "error", err)
			}
			w.all = true
			w.soon()
		case <-w.timer.C:
			scan := rescan{reader: r, broken: broken, dirty: w.dirty, all: w.all}
			w.dirty, w.all, w.deadline = make(map[string]bool), false, time.Time{}
			scan.run()
			s.update(r.set.changes(scan.touched), nil)
			if w.follow(r) || len(scan.unsteady) > 0 {
				maps.Copy(w.dirty, scan.unsteady)
				w.soon()
			}
		}
	}
}

// matters reports whether an event is about a manifest or the way to one.
func (w *manifestWatch) matters(event fsnotify.Event) bool {
	if _, itself := w.plan[event.Name]; itself {
		return true
	}
	names, watched := w.plan[filepath.Dir(event.Name)]
	return watched && (names == nil || names[filepath.Base(event.Name)])
}

// soon has changes read once nothing happened for a while.
func (w *manifestWatch) soon() {
	now := time.Now()
	if w.deadline.IsZero() {
		w.deadline = now.Add(settleMost)
	}
	w.timer.Reset(max(0, min(settle, w.deadline.Sub(now))))
}

// follow watches what has to be watched now. It reports whether there is a
// folder that was not watched before, in which things may have been missed.
func (w *manifestWatch) follow(r *reader) (more bool) {
	next := w.m.planWatch()
	for dir := range next {
		// A folder watched already is added again, in case another folder has
		// taken its name.
		if err := w.fs.Add(dir); err != nil {
			if !w.complained[dir] {
				w.complained[dir] = true
				r.log.Warn("cannot watch a folder; changes in it will be missed", "folder", dir, "error", err)
			}
			continue
		}
		delete(w.complained, dir)
		if _, before := w.plan[dir]; !before {
			more = true
		}
	}
	for _, dir := range w.fs.WatchList() {
		if _, keep := next[dir]; !keep {
			_ = w.fs.Remove(dir) // or it is gone already
		}
	}
	w.plan = next
	return more
}

// rescan brings a reader up to date with what is on disk.
type rescan struct {
	*reader
	// broken is what was logged about paths that cannot be read.
	broken map[string]string
	dirty  map[string]bool
	all    bool

	touched  []key
	unsteady map[string]bool // files that changed while they were read
}

func (r *rescan) run() {
	r.unsteady = make(map[string]bool)
	files, kept := r.listAgain()
	here := make(map[string]bool, len(files))
	for _, f := range files {
		here[f.path] = true
		r.file(f)
	}
	for _, path := range slices.Sorted(maps.Keys(r.seen)) {
		old := r.set.files[path]
		if here[path] || old != nil && kept[old.root] {
			continue
		}
		r.touched = append(r.touched, r.set.drop(path)...)
		delete(r.seen, path)
		delete(r.broken, path)
	}
}

// listAgain lists the files. A folder that cannot be listed is kept as it was.
func (r *rescan) listAgain() (files []foundFile, kept map[int]bool) {
	kept = make(map[int]bool)
	for i, root := range r.Paths {
		paths, err := r.listRoot(root)
		if _, single := r.seen[filepath.Clean(root)]; err != nil && single {
			continue // a file that was removed
		}
		if err != nil {
			kept[i] = true
			r.complain(root, err)
			continue
		}
		r.recover(root)
		for _, path := range paths {
			files = append(files, foundFile{path, i})
		}
	}
	return lastOnly(files), kept
}

// file reads a file again if it may have changed.
func (r *rescan) file(f foundFile) {
	state, old := stateOf(f.path), r.seen[f.path]
	_, known := r.seen[f.path]
	if known && (f.path == stdin || !state.regular) {
		return
	}
	if known && state == old && !r.all && !r.dirty[state.real] && !r.dirty[realPath(f.path)] {
		return
	}
	r.seen[f.path] = state
	file, empty, err := r.read(f)
	if stateOf(f.path) != state {
		// It changed, or went, while it was read: an event tells about it, but
		// that may have come already.
		r.unsteady[realPath(f.path)] = true
		return
	}
	before := r.set.files[f.path]
	switch {
	case err != nil:
		r.complain(f.path, err)
	case empty && before != nil && len(before.objects) > 0:
		r.complain(f.path, &ManifestError{File: f.path, Reason: "the file is empty"})
	default:
		r.recover(f.path)
		r.touched = append(r.touched, r.set.put(file)...)
	}
}

// complain logs why a path cannot be read, once per reason.
func (r *rescan) complain(path string, err error) {
	if r.broken[path] != err.Error() {
		r.broken[path] = err.Error()
		r.log.Error("cannot read manifests; what they said before stays in force", "error", err)
	}
}

func (r *rescan) recover(path string) {
	if _, was := r.broken[path]; was {
		delete(r.broken, path)
		r.log.Info("manifests can be read again", "path", path)
	}
}

// realPath is a path in which only the last element may be a link: the name
// under which its folder's events tell about it.
func realPath(path string) string {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return path
	}
	return filepath.Join(dir, filepath.Base(path))
}
