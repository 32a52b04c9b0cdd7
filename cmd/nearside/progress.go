package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nearside/nearside/agent"
)

// patience is how long a command works in silence.
const patience = 300 * time.Millisecond

// progressLine tells people who wait what a command does: one line on a
// terminal, written over and over and cleared at the end. On anything but a
// terminal it is silent.
type progressLine struct {
	w       io.Writer
	visible bool
	began   time.Time

	mu    sync.Mutex
	shown bool
}

func newProgressLine(w io.Writer) *progressLine {
	f, ok := w.(*os.File)
	return &progressLine{w: w, visible: ok && isTerminal(f), began: time.Now()}
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// show writes a step that has begun, if the command has worked for a while.
func (p *progressLine) show(at agent.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.visible || time.Since(p.began) < patience && at.Step != agent.StepLoad {
		return
	}
	text := string(at.Step)
	if at.Total > 0 {
		text += fmt.Sprintf(" %d/%d", at.Done, at.Total)
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s ...", text)
	p.shown = true
}

// clear takes the line away. It may be called more than once.
func (p *progressLine) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
