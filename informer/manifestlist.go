package informer

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// stdin is the path that means standard input.
const stdin = "-"

// foundFile is a file that Paths lead to.
type foundFile struct {
	path string
	root int // the place in Paths
}

// list returns the files in path order. Errors are of type *ManifestError and
// about the first path that cannot be listed.
func (m *Manifests) list() ([]foundFile, error) {
	var all []foundFile
	for i, root := range m.Paths {
		files, err := m.listRoot(root)
		if err != nil {
			return nil, &ManifestError{File: root, Reason: causeText(err), Err: err}
		}
		for _, path := range files {
			all = append(all, foundFile{path, i})
		}
	}
	return lastOnly(all), nil
}

// lastOnly drops all but the last mention of a file that several paths lead to.
func lastOnly(all []foundFile) []foundFile {
	last := make(map[string]int, len(all))
	for i, f := range all {
		last[f.path] = i
	}
	out := all[:0]
	for i, f := range all {
		if last[f.path] == i {
			out = append(out, f)
		}
	}
	return out
}

// listRoot returns the files one path stands for, sorted.
func (m *Manifests) listRoot(root string) ([]string, error) {
	if root == stdin {
		return []string{stdin}, nil
	}
	info, err := os.Stat(root) // before Clean, which makes a folder of nothing
	if err != nil {
		return nil, err
	}
	root = filepath.Clean(root)
	if !info.IsDir() {
		return []string{root}, nil
	}
	var files []string
	err = m.walk(root, func(string) {}, func(path string) { files = append(files, path) }, 0)
	slices.Sort(files)
	return files, err
}

// walk calls folder and file for what a folder stands for.
func (m *Manifests) walk(dir string, folder, file func(path string), depth int) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	folder(dir)
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		info, err := os.Stat(path) // follows links
		if errors.Is(err, fs.ErrNotExist) {
			continue // gone in the meantime, or a link that leads nowhere
		}
		if err != nil {
			return err
		}
		switch {
		case info.IsDir() && m.Recursive && depth < maxDepth:
			if err := m.walk(path, folder, file, depth+1); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		case info.Mode().IsRegular() && manifestName(entry.Name()):
			file(path)
		}
	}
	return nil
}

func manifestName(name string) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// fileState tells whether a file may have changed. The zero value is a file
// that is not there.
type fileState struct {
	real       string // where links lead
	regular    bool
	size       int64
	modified   time.Time
	device, no uint64
}

func stateOf(path string) fileState {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fileState{}
	}
	if real, err = filepath.Abs(real); err != nil {
		return fileState{}
	}
	info, err := os.Stat(real)
	if err != nil {
		return fileState{}
	}
	state := fileState{real: real, regular: info.Mode().IsRegular(), size: info.Size(), modified: info.ModTime()}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		state.device, state.no = stat.Dev, stat.Ino
	}
	return state
}
