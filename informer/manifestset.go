package informer

import (
	"cmp"
	"fmt"
	"slices"
)

// manifestFile is what one file says.
type manifestFile struct {
	// path is where it is, root the place of the argument that led to it.
	path string
	root int
	// objects are its records by object, without those that are repeated later
	// in the file.
	objects map[key]change
}

// compare orders files by path order: that of the arguments, then by name.
func (f *manifestFile) compare(o *manifestFile) int {
	return cmp.Or(cmp.Compare(f.root, o.root), cmp.Compare(f.path, o.path))
}

// newManifestFile converts the objects of a file.
func newManifestFile(path string, root int, found []manifest, nodeName string) *manifestFile {
	f := &manifestFile{path: path, root: root, objects: make(map[key]change, len(found))}
	for _, m := range found {
		changes, err := convert(m.object, nodeName)
		if err != nil {
			continue // the decoder makes only what convert takes
		}
		for _, c := range changes {
			if _, twice := f.objects[c.key]; twice {
				c.repeated(fmt.Sprintf("is there more than once in %s; the one in line %d counts", quote(path), m.line))
			}
			f.objects[c.key] = c
		}
	}
	return f
}

// repeated notes that an object is defined more than once. A Node is noted for
// its name only, which every Node has.
func (c *change) repeated(reason string) {
	if c.key.kind == kindNode {
		return
	}
	p := Problem{Kind: c.key.kind.String(), Object: objectText(c.key.Namespace, c.key.Name.Name), Reason: reason}
	c.problems = append(slices.Clone(c.problems), p)
}

// manifestSet is what all files say together. It finds out which objects one
// file changes without looking at the others.
type manifestSet struct {
	files map[string]*manifestFile
	// holders are the files that define an object, in path order.
	holders map[key][]*manifestFile
}

func newManifestSet() *manifestSet {
	return &manifestSet{files: make(map[string]*manifestFile), holders: make(map[key][]*manifestFile)}
}

// put adds a file or replaces it.
func (s *manifestSet) put(f *manifestFile) (touched []key) {
	touched = s.drop(f.path)
	s.files[f.path] = f
	for k := range f.objects {
		list := s.holders[k]
		at, _ := slices.BinarySearchFunc(list, f, (*manifestFile).compare)
		s.holders[k] = slices.Insert(list, at, f)
		touched = append(touched, k)
	}
	return touched
}

// drop removes a file.
func (s *manifestSet) drop(path string) (touched []key) {
	f := s.files[path]
	if f == nil {
		return nil
	}
	delete(s.files, path)
	for k := range f.objects {
		list := slices.DeleteFunc(s.holders[k], func(h *manifestFile) bool { return h == f })
		if len(list) == 0 {
			delete(s.holders, k)
		} else {
			s.holders[k] = list
		}
		touched = append(touched, k)
	}
	return touched
}

// changes returns what all files say about some objects now: of several
// definitions the last one in path order.
func (s *manifestSet) changes(touched []key) []change {
	slices.SortFunc(touched, key.compare)
	touched = slices.Compact(touched)
	out := make([]change, 0, len(touched))
	for _, k := range touched {
		list := s.holders[k]
		if len(list) == 0 {
			out = append(out, gone(k))
			continue
		}
		last := list[len(list)-1]
		c := last.objects[k]
		for _, other := range list[:len(list)-1] {
			c.repeated(fmt.Sprintf("is in %s too; the one in %s counts", quote(other.path), quote(last.path)))
		}
		out = append(out, c)
	}
	return out
}

// all returns what all files say about everything.
func (s *manifestSet) all() []change {
	keys := make([]key, 0, len(s.holders))
	for k := range s.holders {
		keys = append(keys, k)
	}
	return s.changes(keys)
}
