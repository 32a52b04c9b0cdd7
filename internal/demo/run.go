package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nearside/nearside/internal/netlab"
)

// ErrOff is returned by Run when the demo went to its end and something was not
// as it should be. The results say what.
var ErrOff = errors.New("the demo found something that is not as it should be; its verdict says what")

// demo is one run.
type demo struct {
	opts    Options
	console *console
	stage   *stage
	results []result // of the policies, in their order
	leave   *leaveScene
}

// Run runs the demo. It needs root and the program ip; the error says so when
// they are missing. It returns ErrOff when connections failed or went where
// they should not.
//
// Run removes all it has made before it returns: at the end, after an error,
// when ctx ends, and on SIGINT, SIGTERM, SIGHUP and SIGPIPE, which it handles
// itself because a namespace outlives its process. It may be called once at a
// time in a process.
func Run(ctx context.Context, opts Options) error {
	opts, err := opts.withDefaults()
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer cancelOnSignal(end)()
	d := &demo{opts: opts, console: newConsole(opts, end)}
	defer d.console.end()

	lab, err := netlab.New(ctx, netlab.Options{Name: labName})
	if err != nil {
		return err
	}
	return d.runIn(ctx, lab)
}

// runIn runs the demo in a lab and removes everything in reverse order, also
// when it panics.
func (d *demo) runIn(ctx context.Context, lab *netlab.Lab) (err error) {
	var undo []func() error
	defer func() {
		var left error
		for _, f := range slices.Backward(undo) {
			left = errors.Join(left, f())
		}
		if ctx.Err() != nil && left == nil {
			err = fmt.Errorf("%w; all that it had made is removed", err)
		}
		err = errors.Join(err, left)
	}()
	undo = append(undo, lab.Close)
	folder, err := newFolder()
	if err != nil {
		return err
	}
	undo = append(undo, func() error { return os.RemoveAll(folder) })
	sc := theScenario()
	d.stage = &stage{sc: sc, policy: policies()[0], conditions: sc.start()}
	undo = append(undo, d.stage.close)
	err = d.play(ctx, lab, folder)
	if ctx.Err() != nil {
		// Whatever else went wrong is a consequence.
		return fmt.Errorf("the demo was interrupted (%w)", context.Cause(ctx))
	}
	return err
}

// play goes through the scenes and gives the verdict.
func (d *demo) play(ctx context.Context, lab *netlab.Lab, folder string) error {
	began := time.Now()
	d.console.begin("building the cluster")
	if err := d.stage.build(ctx, lab, d.opts.ZoneDelay); err != nil {
		return err
	}
	d.console.begin("starting the agents")
	if err := d.stage.startAgents(ctx, d.opts.Agent, folder); err != nil {
		return err
	}
	d.introduce()
	var problems []string
	for _, p := range policies() {
		found, err := d.showPolicy(ctx, p)
		if err != nil {
			return err
		}
		problems = append(problems, found...)
	}
	found, err := d.showLeave(ctx)
	if err != nil {
		return err
	}
	d.console.printf("\nAll new connections to both services, by policy\n\n%s", summaryTable(d.stage.sc, d.results))
	return d.verdict(append(problems, found...), time.Since(began))
}

// verdict prints the last lines.
func (d *demo) verdict(problems []string, took time.Duration) error {
	answered, dropped, failed := d.totals()
	sum := fmt.Sprintf("%s connections answered, %d dropped because Local demands it, %d failed, in %.0f s",
		thousands(answered), dropped, failed, took.Seconds())
	if len(problems) == 0 {
		d.console.printf("\nPASS: %s. Every connection went where its policy says.\n", sum)
		return nil
	}
	d.console.printf("\nFAIL: %s. Not all is as it should be:\n  - %s\n", sum, strings.Join(problems, "\n  - "))
	return ErrOff
}

// totals counts the new connections of all scenes.
func (d *demo) totals() (answered, dropped, failed int) {
	for _, r := range d.results {
		for _, rows := range r.services {
			for i := range rows {
				answered += rows[i].tally.answered
				failed += rows[i].failed()
				dropped += rows[i].tally.failed - rows[i].failed()
			}
		}
	}
	for node := range d.leave.moments {
		a, f := d.leave.sum(node)
		answered, failed = answered+a, failed+f
	}
	return answered, dropped, failed
}

// cancelOnSignal ends the context when the process is asked to end, also by a
// closed terminal or a reader of the results that has gone. It returns how to
// go back to what signals did before.
func cancelOnSignal(end context.CancelCauseFunc) (reset func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	done := make(chan struct{})
	go func() {
		select {
		case s := <-signals:
			end(errors.New(s.String()))
		case <-done:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}
