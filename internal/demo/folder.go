package demo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// labName begins the names of everything the demo makes.
const labName = "nearside-demo"

// newFolder makes a temporary folder for this run and removes those that killed
// runs left behind.
func newFolder() (path string, err error) {
	if err := removeFolders(os.TempDir()); err != nil {
		return "", fmt.Errorf("remove folders of earlier demos: %w", err)
	}
	return os.MkdirTemp("", fmt.Sprintf("%s-%d-", labName, os.Getpid()))
}

// removeFolders removes the folders of demos whose process is gone. Others may
// write to the folder of temporary files too, so only folders of this user
// count.
func removeFolders(base string) error {
	entries, err := os.ReadDir(base)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		pid, ok := folderOwner(e.Name())
		if !ok || alive(pid) || !ownFolder(e) {
			continue
		}
		errs = append(errs, os.RemoveAll(filepath.Join(base, e.Name())))
	}
	return errors.Join(errs...)
}

// folderOwner splits "nearside-demo-PID-RANDOM".
func folderOwner(name string) (pid int, ok bool) {
	rest, ok := strings.CutPrefix(name, labName+"-")
	if !ok {
		return 0, false
	}
	number, random, ok := strings.Cut(rest, "-")
	if !ok || random == "" {
		return 0, false
	}
	pid, err := strconv.Atoi(number)
	return pid, err == nil && pid > 0
}

func ownFolder(e fs.DirEntry) bool {
	info, err := e.Info()
	if err != nil || !info.IsDir() {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
