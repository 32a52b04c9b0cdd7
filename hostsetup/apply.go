package hostsetup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/nearside/nearside/conntrack"
)

// ErrNotLoaded says that the kernel has no settings of conntrack, because its
// module is not loaded and asking for it did not help. Loading rules brings it
// as well, so Apply may succeed after the first commit.
var ErrNotLoaded = errors.New("the kernel module nf_conntrack is not loaded")

// Apply brings the settings to what the options say, and returns what it wrote.
//
// An error does not keep it from trying the other settings; the message names
// every one that failed, on one line. Within are an *Error for each of them, or
// ErrNotLoaded, which need not be the end: see there. Any other means that the
// host is not as asked for, and is not going to be: whoever starts the process
// has to give the privilege, or set the host up, or ask for less.
func Apply(ctx context.Context, o Options) ([]Change, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	steps := o.steps()
	if len(steps) == 0 {
		return nil, nil
	}
	if err := o.ensureLoaded(ctx); err != nil {
		return nil, err
	}
	var changes []Change
	var failed failures
	for _, step := range steps {
		made, err := step()
		changes = append(changes, made...)
		if err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) > 0 {
		return changes, failed
	}
	return changes, nil
}

// steps are what the options ask for.
func (o Options) steps() (steps []func() ([]Change, error)) {
	h := newHost(o.Root)
	if o.MaxPerCore > 0 {
		steps = append(steps, func() ([]Change, error) { return raiseMax(h, o.MaxPerCore, o.Min) })
	}
	for _, s := range o.timeouts() {
		if s.timeout > 0 {
			set := h.sysctl(s.name, s.flag+"=0")
			steps = append(steps, func() ([]Change, error) { return set.set(int(s.timeout / time.Second)) })
		}
	}
	if o.TCPBeLiberal {
		set := h.sysctl("nf_conntrack_tcp_be_liberal", "--conntrack-tcp-be-liberal=false")
		steps = append(steps, func() ([]Change, error) { return set.set(1) })
	}
	return steps
}

// ensureLoaded has the kernel load conntrack where its settings are missing.
func (o Options) ensureLoaded(ctx context.Context) error {
	path := newHost(o.Root).sysctl(nfConntrackMax, "").path
	missing := func() bool {
		_, err := os.Stat(path)
		return errors.Is(err, fs.ErrNotExist)
	}
	if !missing() {
		return nil
	}
	load := o.LoadConntrack
	if load == nil {
		load = askConntrack
	}
	loadErr := load(ctx)
	if !missing() {
		return nil
	}
	err := fmt.Errorf("%w, so %s does not exist: load it on the host, or set the --conntrack flags to 0 to leave its settings alone", ErrNotLoaded, path)
	if loadErr != nil {
		err = fmt.Errorf("%w (asked for it: %w)", err, loadErr)
	}
	return err
}

// askConntrack asks a question that the kernel loads nf_conntrack_netlink for,
// and with it nf_conntrack (net/netfilter/nfnetlink.c).
func askConntrack(ctx context.Context) error {
	c, err := conntrack.Dial()
	if err != nil {
		return err
	}
	_, _, err = c.Count(ctx)
	return errors.Join(err, c.Close())
}

// failures are several errors on one line.
type failures []error

// Error returns the errors one after another.
func (f failures) Error() string {
	texts := make([]string, len(f))
	for i, err := range f {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the errors.
func (f failures) Unwrap() []error { return f }
