package netlab

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// threadNamespace is the file that names the calling thread's own network
// namespace; /proc/self would name that of the process's first thread.
const threadNamespace = "/proc/thread-self/ns/net"

var errGoexit = errors.New("run in namespace: the function ended its goroutine")

// onThread runs fn in a goroutine of its own on a thread that enter has put
// into another namespace, and brings the thread home afterwards. A panic of fn
// becomes an error, because nobody could clean up after one in a goroutine.
//
// A thread that cannot be brought home stays locked, so that it ends with its
// goroutine and never runs anything else.
func onThread(enter, fn func() error) error {
	done := make(chan error, 1)
	go func() {
		err := errGoexit
		defer func() { done <- err }()
		err = lockedTo(enter, fn)
	}()
	return <-done
}

func lockedTo(enter, fn func() error) (err error) {
	runtime.LockOSThread()
	home, err := os.Open(threadNamespace)
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("open the thread's network namespace: %w", err)
	}
	defer home.Close()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	defer func() {
		if setNamespace(home) == nil {
			runtime.UnlockOSThread()
		}
	}()
	if err := enter(); err != nil {
		return err
	}
	return fn()
}

// setNamespace moves the calling thread.
func setNamespace(ns *os.File) error {
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace: %w", os.NewSyscallError("setns", err))
	}
	return nil
}

// newNamespace moves the calling thread into a new network namespace and
// returns a file that keeps it alive.
func newNamespace() (*os.File, error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("make network namespace: %w", os.NewSyscallError("unshare", err))
	}
	return os.Open(threadNamespace)
}
