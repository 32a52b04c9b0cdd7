package nft

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"syscall"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Conn is a connection to the kernel's nf_tables. Its methods may be called
// from several goroutines; they take turns.
//
// It has two sockets. Refusals of a batch must not repeat the messages they
// refuse, or a few of them would overflow the socket's buffer; the library
// that reads the kernel's lists does not understand such shortened refusals.
type Conn struct {
	mu    sync.Mutex
	lists *netlink.Conn
	batch *netlink.Conn
	raw   syscall.RawConn // of batch

	buf    []byte // the latest batch; kept between transactions
	in     []byte // for answers
	seq    uint32
	sndbuf int
}

// maxKeptBuffer is the size above which a batch's buffer is let go after use.
const maxKeptBuffer = 1 << 20

// Dial connects to nf_tables in the network namespace of the calling thread.
// It needs no privilege; Apply needs CAP_NET_ADMIN.
func Dial() (*Conn, error) {
	lists, err := dialSocket(netlink.ExtendedAcknowledge)
	if err != nil {
		return nil, err
	}
	batch, err := dialSocket(netlink.ExtendedAcknowledge, netlink.CapAcknowledge)
	if err != nil {
		return nil, errors.Join(err, lists.Close())
	}
	raw, err := batch.SyscallConn()
	if err != nil {
		return nil, errors.Join(dialError(err), lists.Close(), batch.Close())
	}
	return &Conn{lists: lists, batch: batch, raw: raw, seq: 1, in: make([]byte, 64<<10)}, nil
}

// dialSocket opens a socket. Kernels before 4.12 know neither option and answer
// all the same, with less to say.
func dialSocket(options ...netlink.ConnOption) (*netlink.Conn, error) {
	nl, err := netlink.Dial(unix.NETLINK_NETFILTER, nil)
	if err != nil {
		return nil, dialError(err)
	}
	for _, o := range options {
		if err := nl.SetOption(o, true); err != nil && !errors.Is(err, unix.ENOPROTOOPT) {
			return nil, errors.Join(dialError(err), nl.Close())
		}
	}
	return nl, nil
}

func dialError(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return &Error{Op: "open netlink socket to nf_tables", Errno: errno}
	}
	return fmt.Errorf("open netlink socket to nf_tables: %w", err)
}

// Close closes the connection.
func (c *Conn) Close() error { return errors.Join(c.lists.Close(), c.batch.Close()) }

// Apply has the kernel carry out a transaction: all of it or, with an error,
// nothing. A nil transaction does nothing. The error is an *Error if it comes
// from the kernel.
//
// The kernel works on a transaction while the call lasts and cannot be
// interrupted, so ctx is looked at before, not during.
func (c *Conn) Apply(ctx context.Context, tx *Transaction) error {
	if tx == nil || len(tx.ops) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, op := range tx.ops {
		if op.kind == opForget {
			return c.applyForgetting(ctx, tx)
		}
	}
	return c.transact(ctx, tx)
}

// commit sends operations as one batch.
func (c *Conn) commit(ctx context.Context, tx *Transaction) error {
	if len(tx.ops) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	msgs := tx.encode(c.buf, c.seq)
	if cap(msgs) <= maxKeptBuffer {
		c.buf = msgs
	} else {
		c.buf = nil
	}
	c.seq += countMessages(msgs)
	return c.send(msgs)
}

// send writes a batch and reads the kernel's answers, which are all there when
// the write returns.
func (c *Conn) send(batch []byte) error {
	if err := c.makeRoom(len(batch)); err != nil {
		return err
	}
	var sendErr error
	var answers []answer
	err := c.raw.Write(func(fd uintptr) bool {
		sendErr = unix.Sendto(int(fd), batch, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
		return !errors.Is(sendErr, unix.EAGAIN)
	})
	if err = errors.Join(err, sendErr); err != nil {
		return applyError(err)
	}
	var readErr error
	err = c.raw.Read(func(fd uintptr) bool {
		answers, readErr = readAnswers(int(fd), c.in)
		return true
	})
	if err = errors.Join(err, readErr); err != nil {
		return applyError(err)
	}
	return judge(batch, answers)
}

// makeRoom lets the socket take a batch of that size in one write, whatever
// the limit of the system (SO_SNDBUFFORCE, with CAP_NET_ADMIN).
func (c *Conn) makeRoom(size int) error {
	const overhead = 4096
	if size+overhead <= c.sndbuf {
		return nil
	}
	want := max(size+size/8+overhead, 1<<20)
	if err := c.batch.SetWriteBuffer(want); err != nil {
		return applyError(err)
	}
	c.sndbuf = want
	return nil
}

func applyError(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return &Error{Op: "send transaction", Errno: errno}
	}
	return fmt.Errorf("send transaction: %w", err)
}

func countMessages(batch []byte) (n uint32) {
	for len(batch) >= unix.NLMSG_HDRLEN {
		batch = batch[binary.NativeEndian.Uint32(batch):]
		n++
	}
	return n
}
