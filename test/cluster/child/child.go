// Package child runs programs as child processes and ends exactly those.
//
// A child ends with its parent, whatever ends that, unless Options.Detach asks
// for a process that a later command finds by its ID. An ID is the process
// number together with the start time, so that a number that the system has
// given to another process in the meantime is left alone.
package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// Options say how to run a program.
type Options struct {
	// Log is the file that the program's output is appended to.
	Log string
	// Detach lets the program outlive the caller.
	Detach bool
}

// Process is a running child, or a detached one that an earlier command
// started. Its methods may be called concurrently.
type Process struct {
	// ID identifies the process.
	ID ID
	// Name is the name of the program's file.
	Name string
	// Started is when the program was started; zero for a found one.
	Started time.Time

	log    string
	exited chan struct{} // closed when a child has ended; nil for a found one
}

// Start starts the program at path.
func Start(options Options, path string, args ...string) (*Process, error) {
	p := &Process{Name: filepath.Base(path), log: options.Log, exited: make(chan struct{})}
	out, err := os.OpenFile(options.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.Name, err)
	}
	defer out.Close()
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = out, out
	// A session of its own keeps an interrupt at the terminal from the child:
	// the caller ends its children in its own order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if !options.Detach {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	p.Started = time.Now()
	if err := p.run(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.Name, err)
	}
	if p.ID, err = identify(cmd.Process.Pid); err != nil {
		return nil, p.Explain(fmt.Errorf("start %s: %w", p.Name, err))
	}
	return p, nil
}

// run starts cmd and leaves a goroutine that waits for its end.
func (p *Process) run(cmd *exec.Cmd) error {
	started := make(chan error)
	go func() {
		// Pdeathsig fires when the thread that forked ends, and the Go runtime
		// ends threads: this one is kept for as long as the child lives.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.exited)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
		}
	}()
	return <-started
}

// Find returns the detached process that an earlier command started.
func Find(name, log string, id ID) *Process {
	return &Process{ID: id, Name: name, log: log}
}

// Running reports whether the process still runs.
func (p *Process) Running() bool {
	if p.exited == nil {
		return p.ID.alive()
	}
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Explain adds the last lines of the process's log to err, which say why better
// than anything that can be seen from outside.
func (p *Process) Explain(err error) error {
	log, readErr := os.ReadFile(p.log)
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	lines := bytes.Split(bytes.TrimSpace(log), []byte("\n"))
	lines = lines[max(0, len(lines)-5):]
	return fmt.Errorf("%w; the last lines of %s:\n%s", err, p.log, bytes.Join(lines, []byte("\n")))
}

// End sends the signal and waits until the process is gone; after grace it is
// killed. Ending a process that has ended is no error.
func (p *Process) End(ctx context.Context, signal syscall.Signal, grace time.Duration) error {
	deadline := time.After(grace)
	for send := true; p.Running(); {
		if send {
			if err := syscall.Kill(p.ID.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("stop %s (process %d): %w", p.Name, p.ID.PID, err)
			}
			send = false
		}
		select {
		case <-p.gone():
		case <-deadline:
			signal, send, deadline = syscall.SIGKILL, true, nil
		case <-ctx.Done():
			return fmt.Errorf("stop %s (process %d): %w", p.Name, p.ID.PID, ctx.Err())
		}
	}
	return nil
}

// gone returns a channel that tells of the end of a child; for a found process,
// which cannot be waited for, it tells after a moment to look again.
func (p *Process) gone() <-chan struct{} {
	if p.exited != nil {
		return p.exited
	}
	look := make(chan struct{})
	time.AfterFunc(20*time.Millisecond, func() { close(look) })
	return look
}

// WaitReady calls ready until it returns nil, and gives up when the process
// ends or ctx does.
func (p *Process) WaitReady(ctx context.Context, ready func(context.Context) error) error {
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return p.Explain(fmt.Errorf("start %s: it ended", p.Name))
		case <-ctx.Done():
			return p.Explain(fmt.Errorf("start %s: not ready: %w: %w", p.Name, ctx.Err(), err))
		case <-time.After(50 * time.Millisecond):
		}
	}
}
