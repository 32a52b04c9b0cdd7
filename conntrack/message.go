package conntrack

import (
	"encoding/binary"
	"errors"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// message is a netlink message.
type message struct {
	typ, flags uint16
	sequence   uint32
	body       []byte
}

// newMessage is a message of ctnetlink with its attributes. The sequence number
// is for number to fill in.
func newMessage(typ uint8, flags uint16, family byte, attrs ...[]byte) []byte {
	var header [unix.NLMSG_HDRLEN]byte
	b := slices.Concat(header[:], []byte{family, unix.NFNETLINK_V0, 0, 0}, slices.Concat(attrs...))
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	binary.NativeEndian.PutUint16(b[4:], unix.NFNL_SUBSYS_CTNETLINK<<8|uint16(typ))
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST|flags)
	return b
}

// number writes a sequence number into a message.
func number(message []byte, sequence uint32) {
	binary.NativeEndian.PutUint32(message[8:], sequence)
}

// acknowledge has the kernel answer a message in any case.
func acknowledge(message []byte) {
	flags := binary.NativeEndian.Uint16(message[6:])
	binary.NativeEndian.PutUint16(message[6:], flags|unix.NLM_F_ACK)
}

// eachMessage calls f for the messages in a datagram.
func eachMessage(b []byte, f func(m message)) {
	for len(b) >= unix.NLMSG_HDRLEN {
		n := int(binary.NativeEndian.Uint32(b))
		if n < unix.NLMSG_HDRLEN || n > len(b) {
			return
		}
		f(message{
			typ:      binary.NativeEndian.Uint16(b[4:]),
			flags:    binary.NativeEndian.Uint16(b[6:]),
			sequence: binary.NativeEndian.Uint32(b[8:]),
			body:     b[unix.NLMSG_HDRLEN:n],
		})
		b = b[min((n+3)&^3, len(b)):]
	}
}

// ends reports whether a message is the kernel's last word on a request.
func (m message) ends() bool { return m.typ == unix.NLMSG_ERROR || m.typ == unix.NLMSG_DONE }

// err is what the kernel's last word says: nil for success.
func (m message) err() error {
	if len(m.body) < 4 {
		return nil
	}
	if code := int32(binary.NativeEndian.Uint32(m.body)); code != 0 {
		return syscall.Errno(-code)
	}
	return nil
}

// exchange sends a batch of messages that are numbered in order, the last of
// which the kernel answers in any case, and calls f for every answer until that
// one is through. Answers to anything else, left over from an exchange that
// failed, are dropped.
func (c *Cleaner) exchange(batch []byte, first, last uint32, f func(m message)) error {
	if err := c.sock.send(batch); err != nil {
		return err
	}
	for done := false; !done; {
		n, err := c.sock.receive(c.in)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ENOBUFS):
			continue // ENOBUFS is told once: an answer was lost; the others are there
		case errors.Is(err, unix.EAGAIN):
			return errNoAnswer
		case err != nil:
			return err
		}
		eachMessage(c.in[:n], func(m message) {
			if done || m.sequence-first > last-first {
				return
			}
			f(m)
			done = m.ends() && m.sequence == last
		})
	}
	return nil
}

// sequence takes n sequence numbers and returns the first.
func (c *Cleaner) sequence(n int) (first uint32) {
	first = c.next
	c.next += uint32(n)
	return first
}
