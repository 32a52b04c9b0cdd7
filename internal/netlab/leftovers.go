package netlab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// namespaceFolder is where ip keeps the names of network namespaces.
const namespaceFolder = "/run/netns"

func currentThread() int { return unix.Gettid() }

// Namespaces returns the names of all network namespaces on this machine that
// belong to labs of the given name, sorted.
func Namespaces(name string) ([]string, error) {
	entries, err := os.ReadDir(namespaceFolder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if _, ok := ownerOf(e.Name(), name); ok {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// ownerOf splits "NAME-PID-HOST".
func ownerOf(namespace, name string) (pid int, ok bool) {
	rest, ok := strings.CutPrefix(namespace, name+"-")
	if !ok {
		return 0, false
	}
	number, _, ok := strings.Cut(rest, "-")
	if !ok {
		return 0, false
	}
	pid, err := strconv.Atoi(number)
	return pid, err == nil && pid > 0
}

// removeLeftovers removes the namespaces of labs whose process is gone and
// returns their names.
func removeLeftovers(ctx context.Context, ip, name string) ([]string, error) {
	names, err := Namespaces(name)
	if err != nil {
		return nil, err
	}
	open := make(map[int]map[inode]bool)
	var left []string
	for _, ns := range names {
		pid, _ := ownerOf(ns, name)
		if open[pid] == nil {
			open[pid] = openFiles(pid)
		}
		id, err := inodeOf(filepath.Join(namespaceFolder, ns))
		if err == nil && open[pid][id] {
			continue
		}
		left = append(left, ns)
	}
	return left, removeNamespaces(ctx, ip, left)
}

// inode identifies an open namespace.
type inode struct{ device, number uint64 }

func inodeOf(path string) (inode, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return inode{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return inode{device: st.Dev, number: st.Ino}, nil
}

// openFiles returns the files that a process has open: none if it is gone.
func openFiles(pid int) map[inode]bool {
	open := make(map[inode]bool)
	folder := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return open
	}
	for _, e := range entries {
		if id, err := inodeOf(filepath.Join(folder, e.Name())); err == nil {
			open[id] = true
		}
	}
	return open
}

// removeNamespaces removes those names that exist. Another process may be
// removing the same ones, so only what is still there afterwards is an error.
func removeNamespaces(ctx context.Context, ip string, names []string) error {
	var b Batch
	for _, ns := range names {
		if exists(ns) {
			b.Add("netns del %s", ns)
		}
	}
	err := b.run(ctx, ip, true)
	for _, ns := range names {
		if exists(ns) {
			return errors.Join(fmt.Errorf("namespace %q is still there", ns), err)
		}
	}
	return nil
}

func exists(namespace string) bool {
	_, err := os.Lstat(filepath.Join(namespaceFolder, namespace))
	return err == nil
}
