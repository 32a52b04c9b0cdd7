// Package netns gives tests network namespaces of their own.
package netns

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Namespace is a network namespace that lives as long as its test. Its methods
// may be called from any goroutine.
type Namespace struct {
	file *os.File
}

// New makes a network namespace whose loopback interface is up, and removes it
// when the test ends. Without root the test is skipped; where CI is set in the
// environment it fails instead.
func New(t testing.TB) *Namespace {
	t.Helper()
	RequireRoot(t)
	ns := &Namespace{}
	err := onOwnThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("make network namespace: %w", err)
		}
		if err := loopbackUp(); err != nil {
			return err
		}
		file, err := os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
		ns.file = file
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ns.file.Close() })
	return ns
}

// RequireRoot skips a test that needs root, or fails it where CI is set.
func RequireRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatal("this test needs root, and CI must not skip it")
	}
	t.Skip("this test needs root: run it with sudo, or all with `sudo make test`")
}

// Do runs f on a thread in the namespace. Sockets that f opens stay in the
// namespace; goroutines that f starts do not run in it.
func (ns *Namespace) Do(f func() error) error {
	return onOwnThread(func() error {
		if err := unix.Setns(int(ns.file.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter network namespace: %w", err)
		}
		return f()
	})
}

// Must is Do for a test that cannot go on after an error.
func (ns *Namespace) Must(t testing.TB, f func() error) {
	t.Helper()
	if err := ns.Do(f); err != nil {
		t.Fatal(err)
	}
}

// Run runs a command in the namespace and returns what it printed.
func (ns *Namespace) Run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := ns.Command(name, args...)
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return out
}

// Command is Run for a command that may fail.
func (ns *Namespace) Command(name string, args ...string) (out string, err error) {
	err = ns.Do(func() error {
		b, err := exec.Command(name, args...).CombinedOutput()
		out = string(b)
		return err
	})
	return out, err
}

// Start starts a prepared command in the namespace.
func (ns *Namespace) Start(cmd *exec.Cmd) error {
	return ns.Do(cmd.Start)
}

// onOwnThread runs f on a thread that is thrown away afterwards, so that
// nothing else can find itself in the wrong namespace.
func onOwnThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		done <- f()
	}()
	return <-done
}

// loopbackUp sets the loopback interface up.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open socket to set up loopback: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req); err != nil {
		return fmt.Errorf("set up loopback: %w", err)
	}
	return nil
}
