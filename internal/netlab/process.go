package netlab

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// Process is a program that runs in a host.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // of Wait; valid once done is closed
}

// Start starts a command in the host's namespace. The process is killed by the
// kernel when this one ends, however that happens. It is in a process group of
// its own, so that an interrupt typed at a terminal reaches only its parent,
// who then stops it in order.
func (h *Host) Start(cmd *exec.Cmd) (*Process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		defer close(p.done)
		// The kernel counts the thread that started the process as its parent,
		// so that thread has to live until the process has ended.
		err := h.Do(func() error {
			err := cmd.Start()
			started <- err
			if err != nil {
				return err
			}
			p.err = cmd.Wait()
			return nil
		})
		if err != nil {
			select {
			case started <- err:
			default:
			}
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %q in %s: %w", cmd.Path, h.Name, err)
	}
	return p, nil
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns why the process ended, nil for exit status 0. It is valid once
// Done is closed.
func (p *Process) Err() error { return p.err }

// Stop asks the process to end, waits for it, and kills it when the patience is
// over, which is an error. It does nothing to a process that has ended.
func (p *Process) Stop(patience time.Duration) error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return nil
	case <-time.After(patience):
	}
	_ = p.cmd.Process.Kill()
	<-p.done
	return errors.New("the process did not end when asked to and was killed")
}
