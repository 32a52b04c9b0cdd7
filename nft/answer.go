package nft

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// answer is the kernel's word on one message of a batch.
type answer struct {
	seq     uint32
	errno   syscall.Errno // 0: done
	message string
	offset  int // of the attribute at fault within the message; 0: not told
}

// readAnswers reads all that the kernel has answered, without waiting. If the
// answers were more than the socket holds, the first of them are there.
func readAnswers(fd int, buf []byte) (answers []answer, err error) {
	for {
		n, _, err := unix.Recvfrom(fd, buf, unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return answers, nil
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ENOBUFS):
			continue // ENOBUFS is told once, then reading goes on
		case err != nil:
			return answers, err
		}
		answers = appendAnswers(answers, buf[:n])
	}
}

// appendAnswers takes the error and acknowledgement messages out of a datagram.
func appendAnswers(answers []answer, b []byte) []answer {
	for len(b) >= unix.NLMSG_HDRLEN {
		n := int(binary.NativeEndian.Uint32(b))
		if n < unix.NLMSG_HDRLEN || n > len(b) {
			return answers
		}
		if binary.NativeEndian.Uint16(b[4:]) == unix.NLMSG_ERROR {
			if a, ok := parseAnswer(b[:n]); ok {
				answers = append(answers, a)
			}
		}
		b = b[min((n+3)&^3, len(b)):]
	}
	return answers
}

// parseAnswer reads an NLMSG_ERROR message: a header, the error number, the
// header of the message in question with or without its body, and attributes.
func parseAnswer(b []byte) (a answer, ok bool) {
	const errorLen = unix.NLMSG_HDRLEN + 4 + unix.NLMSG_HDRLEN
	if len(b) < errorLen {
		return a, false
	}
	flags := binary.NativeEndian.Uint16(b[6:])
	errno := int32(binary.NativeEndian.Uint32(b[unix.NLMSG_HDRLEN:]))
	request := b[unix.NLMSG_HDRLEN+4:]
	a = answer{errno: syscall.Errno(-errno), seq: binary.NativeEndian.Uint32(request[8:])}
	rest := b[errorLen:]
	if flags&unix.NLM_F_CAPPED == 0 {
		body := int(binary.NativeEndian.Uint32(request)) - unix.NLMSG_HDRLEN
		rest = rest[min(max((body+3)&^3, 0), len(rest)):]
	}
	if flags&unix.NLM_F_ACK_TLVS != 0 {
		if msg := findAttr(rest, unix.NLMSGERR_ATTR_MSG); msg != nil {
			a.message = strings.TrimRight(string(msg), "\x00")
		}
		if off := findAttr(rest, unix.NLMSGERR_ATTR_OFFS); len(off) == 4 {
			a.offset = int(binary.NativeEndian.Uint32(off))
		}
	}
	return a, true
}

// judge turns the answers to a batch into its outcome. Without any answer the
// kernel has not said that it committed.
func judge(batch []byte, answers []answer) error {
	var first *answer
	failed := 0
	for i := range answers {
		if answers[i].errno != 0 {
			if first == nil {
				first = &answers[i]
			}
			failed++
		}
	}
	switch {
	case first != nil:
		e := describe(messageOf(batch, first.seq), first.offset)
		e.Errno, e.Message, e.More = first.errno, first.message, failed-1
		return e
	case len(answers) == 0:
		return &Error{Op: "send transaction", Errno: unix.ENOBUFS}
	}
	return nil
}

// messageOf finds a message of a batch by its sequence number.
func messageOf(batch []byte, seq uint32) []byte {
	for len(batch) >= unix.NLMSG_HDRLEN {
		n := binary.NativeEndian.Uint32(batch)
		if binary.NativeEndian.Uint32(batch[8:]) == seq {
			return batch[:n]
		}
		batch = batch[n:]
	}
	return nil
}

const msgDeleteElement = unix.NFT_MSG_DELSETELEM

var opNames = map[uint16]string{
	unix.NFT_MSG_NEWTABLE:   "add table",
	unix.NFT_MSG_DELTABLE:   "delete table",
	unix.NFT_MSG_NEWCHAIN:   "add chain",
	unix.NFT_MSG_DELCHAIN:   "delete chain",
	unix.NFT_MSG_NEWRULE:    "add rule to chain",
	unix.NFT_MSG_DELRULE:    "flush chain",
	unix.NFT_MSG_NEWSET:     "add set",
	unix.NFT_MSG_DELSET:     "delete set",
	unix.NFT_MSG_NEWSETELEM: "add element of",
	unix.NFT_MSG_DELSETELEM: "delete element of",
}

// describe says in words what a message does, and to what.
func describe(msg []byte, offset int) *Error {
	const header = unix.NLMSG_HDRLEN + 4 // netlink and nfnetlink
	if len(msg) < header {
		return &Error{Op: "commit transaction"}
	}
	typ := binary.NativeEndian.Uint16(msg[4:])
	op, known := opNames[typ&0xff]
	if typ>>8 != unix.NFNL_SUBSYS_NFTABLES || !known {
		return &Error{Op: "commit transaction"}
	}
	family := IPv4
	if msg[unix.NLMSG_HDRLEN] == unix.NFPROTO_IPV6 {
		family = IPv6
	}
	table := family.String() + " " + TableName
	name := stringAttr(msg[header:], unix.NFTA_SET_NAME) // and NFTA_RULE_CHAIN, NFTA_SET_ELEM_LIST_SET
	e := &Error{Op: op, Object: table}
	switch typ & 0xff {
	case unix.NFT_MSG_NEWTABLE, unix.NFT_MSG_DELTABLE:
	case unix.NFT_MSG_NEWCHAIN, unix.NFT_MSG_DELCHAIN:
		e.Object = table + " " + stringAttr(msg[header:], unix.NFTA_CHAIN_NAME)
	case unix.NFT_MSG_NEWSETELEM, unix.NFT_MSG_DELSETELEM:
		e.Object = table + " " + name
		describeElement(e, family, name, msg, offset)
	default:
		e.Object = table + " " + name
	}
	return e
}

// describeElement adds the element that the kernel points at.
func describeElement(e *Error, f Family, set string, msg []byte, offset int) {
	if offset <= 0 || offset+4 > len(msg) {
		return
	}
	n := int(binary.NativeEndian.Uint16(msg[offset:]))
	if n < 4 || offset+n > len(msg) {
		return
	}
	key := findAttr(findAttr(msg[offset+4:offset+n], unix.NFTA_SET_ELEM_KEY), unix.NFTA_DATA_VALUE)
	layout := layoutSets(f)
	s := knownSet(f, layout[:], set)
	if s == nil || len(key) != s.decl.recordKeyLen() {
		return
	}
	e.Object += " { " + s.keyText(key) + " }"
	e.dynamic = s.decl.dynamic
	if strings.HasPrefix(s.decl.key, addrFields(f)+dialledFields) {
		k := dialledKey(f, key)
		e.Frontend, e.Protocol = netip.AddrPortFrom(f.ipAddr(k.ip), k.port), k.proto
	}
}

// dialledFields follow the address in the key of a map of what is dialled.
const dialledFields = string(fieldProto) + string(fieldService)

// dialledKey is the inverse of putDialled.
func dialledKey(f Family, key []byte) (k frontendKey) {
	n := copy(k.ip[:], key[:f.addrLen()])
	k.proto = Protocol(key[n])
	k.port = binary.BigEndian.Uint16(key[n+4:])
	return k
}
