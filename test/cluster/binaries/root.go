package binaries

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
)

var rootModule = regexp.MustCompile(`(?m)^module github\.com/nearside/nearside$`)

// Root returns the root folder of the nearside checkout that this program was
// built in or, when it lies elsewhere as test binaries do, the one that holds
// the current directory.
func Root() (string, error) {
	var starts []string
	for _, where := range []func() (string, error){os.Executable, os.Getwd} {
		start, err := where()
		if err != nil {
			return "", fmt.Errorf("find the nearside checkout: %w", err)
		}
		starts = append(starts, start)
		root, err := rootAbove(start)
		if err != nil || root != "" {
			return root, err
		}
	}
	return "", fmt.Errorf("find the nearside checkout: no folder above %q has its go.mod; run from a clone of the repository", starts)
}

// rootAbove returns the nearest parent of path that has the main module's
// go.mod; none is "".
func rootAbove(path string) (string, error) {
	for dir := path; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		switch {
		case err == nil && rootModule.Match(mod):
			return dir, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			return "", fmt.Errorf("find the nearside checkout: %w", err)
		}
	}
	return "", nil
}
