package conntrack

import (
	"encoding/binary"
	"net/netip"
)

// protocolUDP is UDP's IP protocol number.
const protocolUDP = 17

// headerLen is the length of the header that ctnetlink's messages start with
// (struct nfgenmsg): family, version, resource.
const headerLen = 4

// flow is what the kernel says of a flow, as far as it matters here. The slices
// point into the message.
type flow struct {
	protocol uint8
	// dialled is where the client sent its packets; answers come from answering,
	// which is the same without translation.
	dialled, answering netip.AddrPort

	reply, id, zone []byte // the attributes that name the flow in a request
}

// tuple is one direction of a flow.
type tuple struct {
	protocol            uint8
	source, destination netip.AddrPort
}

// parseFlow reads the message of one flow. It reports false for what is not a
// flow between addresses and ports, such as one of ICMP.
func parseFlow(message []byte) (f flow, ok bool) {
	if len(message) < headerLen {
		return f, false
	}
	var original []byte
	eachAttr(message[headerLen:], func(typ uint16, value []byte) {
		switch typ {
		case attrOriginal:
			original = value
		case attrReply:
			f.reply = value
		case attrID:
			f.id = value
		case attrZone:
			f.zone = value
		}
	})
	there, back := parseTuple(original), parseTuple(f.reply)
	f.protocol, f.dialled, f.answering = there.protocol, there.destination, back.source
	return f, f.dialled.IsValid() && f.answering.IsValid() && there.protocol == back.protocol
}

// parseTuple reads a tuple. What it does not have remains zero.
func parseTuple(b []byte) (t tuple) {
	var source, destination netip.Addr
	var ports protocolPart
	eachAttr(b, func(typ uint16, value []byte) {
		switch typ {
		case tupleIP:
			source, destination = parseAddresses(value)
		case tupleProto:
			ports = parsePorts(value)
		}
	})
	t.protocol = ports.protocol
	if ports.complete && source.IsValid() && destination.IsValid() {
		t.source = netip.AddrPortFrom(source, ports.source)
		t.destination = netip.AddrPortFrom(destination, ports.destination)
	}
	return t
}

func parseAddresses(b []byte) (source, destination netip.Addr) {
	eachAttr(b, func(typ uint16, value []byte) {
		switch typ {
		case ipSource4, ipSource6:
			source, _ = netip.AddrFromSlice(value)
		case ipDestination4, ipDestination6:
			destination, _ = netip.AddrFromSlice(value)
		}
	})
	return source, destination
}

// protocolPart is the part of a tuple that depends on the protocol. It is
// complete if there are two ports.
type protocolPart struct {
	protocol            uint8
	source, destination uint16
	complete            bool
}

func parsePorts(b []byte) (p protocolPart) {
	var hasSource, hasDestination bool
	eachAttr(b, func(typ uint16, value []byte) {
		switch {
		case typ == protoNumber && len(value) == 1:
			p.protocol = value[0]
		case typ == protoSource && len(value) == 2:
			p.source, hasSource = binary.BigEndian.Uint16(value), true
		case typ == protoDestination && len(value) == 2:
			p.destination, hasDestination = binary.BigEndian.Uint16(value), true
		}
	})
	p.complete = hasSource && hasDestination
	return p
}
