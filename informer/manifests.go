package informer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Manifests is the Source that reads YAML and JSON files: Services,
// EndpointSlices, Nodes and ServiceCIDRs, one or many per file, also as List or
// ServiceList and so on. Objects of other kinds are skipped with a note in the log.
//
// The objects are those an API server would give out. What it adds to what a
// user writes, clusterIP above all, has to be there; a Service with two cluster
// IPs needs ipFamilies, too. An object without a namespace is in "default".
//
// When several files define the same object, the last one counts: files in the
// order of Paths, those of a folder in the order of their names.
type Manifests struct {
	// Paths are files, folders, or "-" for standard input. As for kubectl, the
	// files of a folder are those that end in .yaml, .yml or .json; names that
	// begin with a dot are left out, for editors and ConfigMap volumes use them.
	Paths []string
	// Recursive looks into the folders of folders, too.
	Recursive bool
	// Stdin is what "-" reads. Nil means os.Stdin.
	Stdin io.Reader
	// Log gets what an operator should know; nil means the Store's.
	Log *slog.Logger
}

var _ Source = (*Manifests)(nil)

// Load reads everything once and makes it the complete content of s. On an
// error, a *ManifestError if it is about a file, s stays as it was.
func (m *Manifests) Load(ctx context.Context, s *Store) error {
	_, err := m.load(ctx, s)
	return err
}

// Run loads everything and then follows what happens on disk until ctx ends.
//
// What a file says is compared object by object with what it said before, so an
// object that is in both is there all the time. A file that disappears takes its
// objects with it. A file that cannot be read, is malformed or is empty keeps
// the last good state in force, as does a folder that disappears; that is logged
// once, and again when all is well. To write a file without any chance that
// half of it is read, write it under another name and rename it.
//
// Standard input and anything else that is not a regular file is read once.
// Run fails only when the first load does, or nothing can be watched.
func (m *Manifests) Run(ctx context.Context, s *Store) error {
	// Watching begins before reading, lest a change in between be missed.
	w, err := newManifestWatch(m)
	if err != nil {
		return err
	}
	defer w.close()
	r, err := m.load(ctx, s)
	if err != nil {
		return err
	}
	return w.run(ctx, s, r)
}

// reader reads manifests and remembers what they said.
type reader struct {
	*Manifests
	log      *slog.Logger
	nodeName string
	set      *manifestSet
	// seen are the files as they were when they were read.
	seen map[string]fileState
	// noted are the kinds that were mentioned as not needed, by file.
	noted map[string]bool
}

func (m *Manifests) reader(s *Store) *reader {
	log := m.Log
	if log == nil {
		log = s.opts.Log
	}
	return &reader{
		Manifests: m, log: log, nodeName: s.opts.NodeName,
		set: newManifestSet(), seen: make(map[string]fileState), noted: make(map[string]bool),
	}
}

func (m *Manifests) load(ctx context.Context, s *Store) (*reader, error) {
	r := m.reader(s)
	files, err := m.list()
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		r.log.Warn("there are no manifests", "paths", m.Paths)
	}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.seen[f.path] = stateOf(f.path)
		file, _, err := r.read(f)
		if err != nil {
			return nil, err
		}
		r.set.put(file)
	}
	s.update(r.set.all(), everything)
	return r, nil
}

// read reads one file. It also reports whether there was nothing in it at all.
func (r *reader) read(f foundFile) (file *manifestFile, empty bool, err error) {
	data, err := r.text(f.path)
	if err != nil {
		return nil, false, &ManifestError{File: f.path, Reason: causeText(err), Err: err}
	}
	found, err := decodeManifests(data, func(meta metav1.TypeMeta) { r.note(f.path, meta) })
	if err != nil {
		e := &ManifestError{File: f.path, Reason: err.Error()}
		if at, ok := errors.AsType[*lineError](err); ok {
			e.Line, e.Reason = at.line, at.reason
		}
		return nil, false, e
	}
	return newManifestFile(f.path, f.root, found, r.nodeName), blank(data), nil
}

func (r *reader) text(path string) ([]byte, error) {
	if path != stdin {
		return os.ReadFile(path)
	}
	in := r.Stdin
	if in == nil {
		in = os.Stdin
	}
	return io.ReadAll(in)
}

// note mentions a kind that is not needed, once per file.
func (r *reader) note(path string, meta metav1.TypeMeta) {
	what := fmt.Sprintf("%q %q %q", path, meta.APIVersion, meta.Kind)
	if r.noted[what] {
		return
	}
	r.noted[what] = true
	r.log.Info("skip objects of a kind that is not needed",
		"file", path, "apiVersion", shorten(meta.APIVersion, maxWord), "kind", shorten(meta.Kind, maxWord))
}

func blank(data []byte) bool {
	for _, c := range data {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return false
		}
	}
	return true
}

// causeText is the cause of a failed system call without the path, which
// stands before it anyway.
func causeText(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Op + ": " + e.Err.Error()
	}
	return err.Error()
}
