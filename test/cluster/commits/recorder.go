package commits

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// receiveBuffer holds the announcements of the largest transaction that the
// tests make (a thousand services at once is about 1 MB), many times over.
const receiveBuffer = 64 << 20

// A Commit is one transaction that the kernel has made visible.
type Commit struct {
	// At is when its end was received, a few microseconds after the commit on
	// an idle machine.
	At time.Time
	// Generation is the number of the ruleset's generation that it made.
	Generation uint32
	// Thread and Process are the id of the thread that sent it, and its name,
	// which is that of its program.
	Thread  uint32
	Process string
	// Messages are its netlink messages in their order, without the one that
	// closes it.
	Messages []Message
}

// Message is one object that was added, changed or removed.
type Message struct {
	// Type is one of unix.NFT_MSG_*.
	Type int
	// Data is the nfgenmsg header and the attributes.
	Data []byte
}

// Contains reports whether any message of the type has the bytes in it, for
// instance an address that appears nowhere else.
func (c Commit) Contains(messageType int, value []byte) bool {
	for _, m := range c.Messages {
		if m.Type == messageType && bytes.Contains(m.Data, value) {
			return true
		}
	}
	return false
}

// Recorder keeps the commits since it was made. It is safe for concurrent use.
type Recorder struct {
	conn *netlink.Conn
	done chan struct{}

	mu      sync.Mutex
	commits []Commit
	err     error
	changed chan struct{} // closed and replaced at every commit
}

// Record starts to record the network namespace of the calling thread, in a
// goroutine that ends with Close.
func Record() (*Recorder, error) {
	conn, err := netlink.Dial(unix.NETLINK_NETFILTER, nil)
	if err != nil {
		return nil, fmt.Errorf("record nftables commits: %w", err)
	}
	if err := conn.SetReadBuffer(receiveBuffer); err != nil {
		return nil, errors.Join(fmt.Errorf("record nftables commits: enlarge the receive buffer: %w", err), conn.Close())
	}
	if err := conn.JoinGroup(unix.NFNLGRP_NFTABLES); err != nil {
		return nil, errors.Join(fmt.Errorf("record nftables commits: join the multicast group: %w", err), conn.Close())
	}
	r := &Recorder{conn: conn, done: make(chan struct{}), changed: make(chan struct{})}
	go r.receive()
	return r, nil
}

// Close ends the recording.
func (r *Recorder) Close() error {
	err := r.conn.Close()
	<-r.done
	return err
}

// Since returns the commits that came after the first n ones. The error says
// that announcements were lost, so that the record means nothing any more.
func (r *Recorder) Since(n int) ([]Commit, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Commit(nil), r.commits[n:]...), r.err
}

// Count returns the number of commits so far.
func (r *Recorder) Count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.commits)
}

// Wait returns the first commit after the first n ones that satisfies match,
// waiting for it until ctx ends.
func (r *Recorder) Wait(ctx context.Context, n int, match func(Commit) bool) (Commit, error) {
	for {
		r.mu.Lock()
		changed, err := r.changed, r.err
		for ; n < len(r.commits); n++ {
			if match(r.commits[n]) {
				defer r.mu.Unlock()
				return r.commits[n], nil
			}
		}
		r.mu.Unlock()
		if err != nil {
			return Commit{}, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Commit{}, fmt.Errorf("wait for a matching nftables commit: %w", ctx.Err())
		}
	}
}

func (r *Recorder) receive() {
	defer close(r.done)
	var open Commit
	for {
		messages, err := r.conn.Receive()
		if err != nil {
			r.finish(fmt.Errorf("record nftables commits: %w", err))
			return
		}
		for _, m := range messages {
			if int(m.Header.Type)>>8 != unix.NFNL_SUBSYS_NFTABLES {
				continue
			}
			kind := int(m.Header.Type) & 0xff
			if kind != unix.NFT_MSG_NEWGEN {
				open.Messages = append(open.Messages, Message{Type: kind, Data: m.Data})
				continue
			}
			if err := open.close(m.Data); err != nil {
				r.finish(fmt.Errorf("record nftables commits: %w", err))
				return
			}
			r.add(open)
			open = Commit{}
		}
	}
}

// close fills in what the message about the new generation says.
func (c *Commit) close(data []byte) error {
	const genmsg = 4 // struct nfgenmsg
	if len(data) < genmsg {
		return fmt.Errorf("a message of %d bytes about a new generation is too short", len(data))
	}
	attributes, err := netlink.NewAttributeDecoder(data[genmsg:])
	if err != nil {
		return fmt.Errorf("decode the message about a new generation: %w", err)
	}
	attributes.ByteOrder = binary.BigEndian
	c.At = time.Now()
	for attributes.Next() {
		switch attributes.Type() {
		case unix.NFTA_GEN_ID:
			c.Generation = attributes.Uint32()
		case unix.NFTA_GEN_PROC_PID:
			c.Thread = attributes.Uint32()
		case unix.NFTA_GEN_PROC_NAME:
			c.Process = attributes.String()
		}
	}
	return attributes.Err()
}

func (r *Recorder) add(c Commit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commits = append(r.commits, c)
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *Recorder) finish(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
	close(r.changed)
	r.changed = make(chan struct{})
}
