package demo

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// console writes results to one place and progress to another, which may be the
// same terminal. It is safe for concurrent use.
type console struct {
	mu       sync.Mutex
	out      io.Writer
	progress io.Writer
	terminal bool        // progress is one line that changes
	broken   func(error) // called when the results cannot be written
	step     string
	steps    int
	drawn    time.Time
}

// stepsInAll is the number of steps that the progress counts up to.
const stepsInAll = 7

// redrawEvery bounds how often the line is drawn anew.
const redrawEvery = 100 * time.Millisecond

func newConsole(opts Options, broken func(error)) *console {
	c := &console{out: opts.Out, progress: opts.Progress, broken: broken}
	if f, ok := opts.Progress.(*os.File); ok {
		_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
		c.terminal = err == nil
	}
	return c
}

// printf writes a result.
func (c *console) printf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
	if _, err := fmt.Fprintf(c.out, format, args...); err != nil {
		c.broken(fmt.Errorf("write results: %w", err))
	}
}

// begin tells the next step.
func (c *console) begin(step string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.steps++
	c.step = fmt.Sprintf("[%d/%d] %s", c.steps, stepsInAll, step)
	if c.terminal {
		c.draw(c.step)
		return
	}
	_, _ = fmt.Fprintln(c.progress, "demo: "+c.step)
}

// count tells how far the step is, now and then.
func (c *console) count(done, total int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.terminal || time.Since(c.drawn) < redrawEvery {
		return
	}
	const width = 20
	full := width * done / max(total, 1)
	bar := strings.Repeat("=", full) + strings.Repeat(" ", width-full)
	c.draw(fmt.Sprintf("%s [%s] %s of %s", c.step, bar, thousands(done), thousands(total)))
}

// end takes the progress away.
func (c *console) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
}

func (c *console) draw(line string) {
	_, _ = fmt.Fprint(c.progress, "\r\x1b[K"+line)
	c.drawn = time.Now()
}

func (c *console) clear() {
	if c.terminal {
		_, _ = fmt.Fprint(c.progress, "\r\x1b[K")
	}
}

// thousands writes a number with commas.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
