package netlab

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// timer waits more exactly than time.Sleep, which is only good to a millisecond
// while nothing else goes on: the runtime then sleeps in epoll_wait, whose
// time-out counts milliseconds. A timerfd wakes it like any other file. A
// plain nanosleep would be as exact, but it keeps a processor from the other
// goroutines meanwhile.
type timer struct {
	file *os.File
}

func newTimer() (*timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make timer: %w", os.NewSyscallError("timerfd_create", err))
	}
	return &timer{file: os.NewFile(uintptr(fd), "timerfd")}, nil
}

// wait returns when it is time, or at once when the timer does not work.
func (t *timer) wait(due time.Time) {
	d := time.Until(due)
	if d <= 0 {
		return
	}
	raw, err := t.file.SyscallConn()
	if err != nil {
		return
	}
	var setErr error
	err = raw.Control(func(fd uintptr) {
		spec := unix.ItimerSpec{Value: unix.NsecToTimespec(d.Nanoseconds())}
		setErr = unix.TimerfdSettime(int(fd), 0, &spec, nil)
	})
	if err != nil || setErr != nil {
		return
	}
	var expirations [8]byte
	_, _ = t.file.Read(expirations[:])
}

// close releases the timer; nil does nothing.
func (t *timer) close() {
	if t != nil {
		_ = t.file.Close()
	}
}
