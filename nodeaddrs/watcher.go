package nodeaddrs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// DefaultSettle is how long changes are gathered before they are handed out.
const DefaultSettle = 100 * time.Millisecond

// DefaultReadBuffer is the size of the socket's buffer in bytes: room for about
// a thousand changes that nobody has read yet.
const DefaultReadBuffer = 1 << 20

// Options configures a Watcher. The zero value of every field is a safe default.
type Options struct {
	// Settle is how long changes are gathered after the first before they are
	// handed out together: a change is delayed by that much, and an interface
	// that comes up with many addresses costs one round of its user in place of
	// many. Zero means DefaultSettle, negative means no wait.
	Settle time.Duration
	// ReadBuffer is the size of the socket's buffer in bytes. When it runs over,
	// everything is read again. Zero means DefaultReadBuffer. Without
	// CAP_NET_ADMIN the kernel limits it to net.core.rmem_max.
	ReadBuffer int
	// Log receives messages. Nil means no logs.
	Log *slog.Logger
}

// Watcher follows the addresses of the interfaces in one network namespace.
type Watcher struct {
	opts   Options
	events *netlink.Conn // gets what changes
	asks   *netlink.Conn // asks for everything
}

// Watch is Dial and Run in one.
func Watch(ctx context.Context, opts Options, f func([]netip.Addr)) error {
	w, err := Dial(opts)
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	return w.Run(ctx, f)
}

// Dial opens a Watcher for the network namespace of the calling thread. It
// follows changes from then on.
func Dial(opts Options) (*Watcher, error) {
	if opts.Settle == 0 {
		opts.Settle = DefaultSettle
	}
	if opts.ReadBuffer <= 0 {
		opts.ReadBuffer = DefaultReadBuffer
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	events, err := netlink.Dial(unix.NETLINK_ROUTE, &netlink.Config{
		Groups: groups(unix.RTNLGRP_LINK, unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV6_IFADDR),
	})
	if err != nil {
		return nil, fmt.Errorf("watch addresses: open netlink socket: %w", err)
	}
	if err := events.SetReadBuffer(opts.ReadBuffer); err != nil {
		opts.Log.Debug("cannot enlarge the netlink buffer", "bytes", opts.ReadBuffer, "error", err)
	}
	asks, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
	if err != nil {
		_ = events.Close()
		return nil, fmt.Errorf("watch addresses: open netlink socket: %w", err)
	}
	return &Watcher{opts: opts, events: events, asks: asks}, nil
}

// Close closes a Watcher that does not run.
func (w *Watcher) Close() error {
	return errors.Join(w.events.Close(), w.asks.Close())
}

// Run calls f with the addresses on all interfaces that are up, at once and
// after every change of them, until ctx ends, and returns nil then. The set is
// sorted, holds each address once, loopback too, and belongs to f; IPv6
// link-local addresses carry their interface as zone. Calls come one after the
// other from Run's own goroutine. While f takes its time, changes are gathered;
// none is lost, even when there are more than the kernel's queue holds.
//
// An error means that the kernel does not answer any more.
func (w *Watcher) Run(ctx context.Context, f func([]netip.Addr)) error {
	if err := w.follow(ctx, f); ctx.Err() == nil {
		return err
	}
	return nil
}

// follow is Run, with an error at the end of ctx too.
func (w *Watcher) follow(ctx context.Context, f func([]netip.Addr)) error {
	// A deadline in the past wakes the reader.
	wake := context.AfterFunc(ctx, func() { _ = w.events.SetReadDeadline(time.Unix(1, 0)) })
	defer wake()
	known, err := w.read(ctx)
	if err != nil {
		return err
	}
	told := known.current()
	f(slices.Clone(told))
	for {
		if known, err = w.gather(ctx, known); err != nil {
			return err
		}
		if now := known.current(); !slices.Equal(now, told) {
			told = now
			f(slices.Clone(told))
		}
	}
}

// gather waits for a change and the time to settle, and returns what is known
// then.
func (w *Watcher) gather(ctx context.Context, known *table) (*table, error) {
	var deadline time.Time // none before the first change
	for {
		messages, err := w.receive(ctx, deadline)
		switch {
		case err == nil:
			w.apply(known, messages)
		case errors.Is(err, os.ErrDeadlineExceeded):
			return known, nil
		case errors.Is(err, unix.ENOBUFS):
			return w.readAgain(ctx, err)
		default:
			return nil, fmt.Errorf("watch addresses: receive changes: %w", err)
		}
		if w.opts.Settle < 0 {
			return known, nil
		}
		if deadline.IsZero() {
			deadline = time.Now().Add(w.opts.Settle)
		}
	}
}

// receive waits for the next change, until the deadline if it is not zero, or
// until ctx ends.
func (w *Watcher) receive(ctx context.Context, deadline time.Time) ([]netlink.Message, error) {
	if err := w.events.SetReadDeadline(deadline); err != nil {
		return nil, err
	}
	// Only now: an end before this may have set a deadline that is lost.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return w.events.Receive()
}

func groups(numbers ...uint) (mask uint32) {
	for _, n := range numbers {
		mask |= 1 << (n - 1)
	}
	return mask
}
