package informer

import (
	"os"
	"path/filepath"
	"strings"
)

// watchPlan are the folders to watch, each with the names in it that matter;
// nil means all names do. Folders are without links, because one folder under
// two names would report its events under one of them only.
type watchPlan map[string]map[string]bool

// planWatch finds out what to watch for the paths as they are now.
func (m *Manifests) planWatch() watchPlan {
	plan := make(watchPlan)
	for _, root := range m.Paths {
		if root == stdin {
			continue
		}
		plan.way(root)
		info, err := os.Stat(root)
		if err != nil || !info.IsDir() {
			continue
		}
		// What cannot be listed is reported when it is read.
		_ = m.walk(filepath.Clean(root), plan.folder, plan.link, 0)
	}
	return plan
}

// folder watches everything in a folder.
func (p watchPlan) folder(dir string) {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		if real, err = filepath.Abs(real); err == nil {
			p[real] = nil
		}
	}
}

// link watches where a file is, if that is not where its name is.
func (p watchPlan) link(path string) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
		p.way(path)
	}
}

// maxLinks is how many links the kernel follows in one path, too.
const maxLinks = 40

// way watches all on the way to a path whose replacement would change what the
// path means: each link, and the last element. A ConfigMap volume, for instance,
// is updated by replacing a link to a folder. If an element is missing, the
// folder it is missing in is watched.
func (p watchPlan) way(path string) {
	path, err := filepath.Abs(path)
	if err != nil {
		return
	}
	at, rest := "/", strings.Split(path, "/")
	for links := 0; len(rest) > 0 && links <= maxLinks; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		full := filepath.Join(at, name)
		info, err := os.Lstat(full)
		if err != nil {
			p.name(at, name)
			return
		}
		if info.Mode()&os.ModeSymlink == 0 {
			if len(rest) == 0 {
				p.name(at, name)
			}
			at = full
			continue
		}
		p.name(at, name)
		links++
		target, err := os.Readlink(full)
		if err != nil {
			return
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
}

func (p watchPlan) name(dir, name string) {
	if names, there := p[dir]; there {
		if names != nil {
			names[name] = true
		}
		return
	}
	p[dir] = map[string]bool{name: true}
}
