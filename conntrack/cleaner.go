package conntrack

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"golang.org/x/sys/unix"
)

// Errors that callers decide on.
var (
	// ErrInterrupted: the kernel's table of flows changed its shape so often that
	// it could not be listed in one piece. What was found is dealt with; another
	// Clean finds the rest.
	ErrInterrupted = errors.New("the table of flows was being rebuilt: try again")
	// ErrPermission: the process may not handle flows.
	ErrPermission = errors.New("not permitted: run as root or with CAP_NET_ADMIN in this network namespace")
)

var errNoAnswer = errors.New("the kernel's answer was lost: try again")

// maxAnswer is the size of an answer that the kernel may give. It fills up to
// 32 KiB (net/netlink/af_netlink.c).
const maxAnswer = 64 << 10

// Cleaner deletes stale flows. Its methods may be called from several
// goroutines; they take turns.
type Cleaner struct {
	mu   sync.Mutex
	sock socket
	in   []byte
	next uint32 // sequence number
}

// Result is what Clean did.
type Result struct {
	// Deleted counts the flows that were deleted.
	Deleted int
	// Looked counts the flows that the kernel handed over to be looked at.
	Looked int
}

// Dial connects to the conntrack table of the calling thread's network
// namespace. It needs no privilege; Clean and Count need CAP_NET_ADMIN.
func Dial() (*Cleaner, error) {
	sock, err := openSocket()
	if err != nil {
		return nil, err
	}
	return newCleaner(sock), nil
}

func newCleaner(sock socket) *Cleaner {
	return &Cleaner{sock: sock, in: make([]byte, maxAnswer), next: 1}
}

// Close closes the connection.
func (c *Cleaner) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sock.close()
}

// Clean deletes the UDP flows that were made for the changed frontends and do
// not lead to an endpoint that serves them. It is to be called after the rules
// that serve the frontends are in the kernel: before, the next packet of a
// client makes the same flow again. Node ports are those of nodeAddrs.
//
// Flows that are gone by themselves count as neither deleted nor an error. With
// an error the result says what was done until then.
//
// The kernel works while it is asked and cannot be interrupted, so ctx is looked
// at between requests.
func (c *Cleaner) Clean(ctx context.Context, changed []Frontend, nodeAddrs []netip.Addr) (Result, error) {
	ts := newTargets(changed, nodeAddrs)
	if len(ts) == 0 {
		return Result{}, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var result Result
	var interrupted error
	for _, f := range ts.filters() {
		looked, deletions, err := c.list(ctx, f, ts)
		result.Looked += looked
		if errors.Is(err, ErrInterrupted) {
			interrupted, err = err, nil
		}
		if err != nil {
			return result, fmt.Errorf("list %v: %w", f, explain(err))
		}
		deleted, err := c.remove(ctx, deletions)
		result.Deleted += deleted
		if err != nil {
			return result, fmt.Errorf("delete stale UDP flows: %w", explain(err))
		}
	}
	return result, interrupted
}

// Count returns how many flows there are in the network namespace, and how many
// there may be (0 where the kernel does not say, before Linux 4.18).
//
// Asking loads the kernel's conntrack modules where they are missing.
func (c *Cleaner) Count(ctx context.Context) (flows, limit int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	ask := newMessage(msgGetStats, unix.NLM_F_ACK, unix.AF_UNSPEC)
	at := c.sequence(1)
	number(ask, at)
	var refused error
	err = c.exchange(ask, at, at, func(m message) {
		if m.ends() {
			refused = m.err()
			return
		}
		eachAttr(m.body[min(headerLen, len(m.body)):], func(typ uint16, value []byte) {
			switch {
			case typ == statsEntries && len(value) == 4:
				flows = int(binary.BigEndian.Uint32(value))
			case typ == statsMaxEntries && len(value) == 4:
				limit = int(binary.BigEndian.Uint32(value))
			}
		})
	})
	if err = errors.Join(err, refused); err != nil {
		return 0, 0, fmt.Errorf("count flows: %w", explain(err))
	}
	return flows, limit, nil
}

// explain adds what callers decide on to an error of the kernel.
func explain(err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return fmt.Errorf("%w: %w", err, ErrPermission)
	}
	return err
}
