package packettest

import (
	"encoding/binary"
	"net/netip"
)

// stage is a packet's place in a conversation.
type stage uint8

const (
	stageFirst  stage = iota // TCP SYN, SCTP INIT, ICMP echo request
	stageAnswer              // TCP SYN+ACK, SCTP INIT ACK, ICMP echo reply
	stageLater               // TCP data, SCTP COOKIE ECHO, ICMP echo request
)

// packet is what a lab sends. Its token is found again in what comes out: it is
// the initial sequence number of TCP, the initiate tag of SCTP, and otherwise
// part of the payload, none of which NAT touches.
type packet struct {
	src, dst netip.AddrPort
	proto    Protocol
	stage    stage
	token    uint32
	// own and peer are the tokens of the conversation's first packet and of its
	// answer, seen from the side that sends: sequence numbers and tags have to
	// fit, or conntrack calls the packet invalid and NAT leaves it alone.
	own, peer uint32
}

// payloadMagic stands before a token in a payload.
const payloadMagic = "nearside"

const (
	tcpSYN = 0x02
	tcpRST = 0x04
	tcpPSH = 0x08
	tcpACK = 0x10

	sctpInit       = 1
	sctpInitAck    = 2
	sctpCookieEcho = 10
	sctpCookie     = 7 // parameter of INIT ACK

	icmpEchoReply        = 0
	icmpUnreachable      = 3
	icmpPortUnreachable  = 3 // code
	icmpEchoRequest      = 8
	icmp6Unreachable     = 1
	icmp6PortUnreachable = 4 // code
	icmp6EchoRequest     = 128
	icmp6EchoReply       = 129
)

func (p packet) payload() []byte {
	return binary.BigEndian.AppendUint32([]byte(payloadMagic), p.token)
}

// marshal writes the packet from its IP header on.
func (p packet) marshal() []byte {
	var segment []byte
	switch p.proto {
	case TCP:
		segment = p.tcp()
	case UDP:
		segment = p.udp()
	case SCTP:
		segment = p.sctp()
	default:
		segment = p.icmp()
	}
	putChecksum(p.proto, p.src.Addr(), p.dst.Addr(), segment)
	if p.src.Addr().Is4() {
		return append(p.ipv4(len(segment)), segment...)
	}
	return append(p.ipv6(len(segment)), segment...)
}

// ipv4 writes a header as RFC 791 has it, without options.
func (p packet) ipv4(length int) []byte {
	b := make([]byte, 0, 20+length)
	b = append(b, 0x45, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(20+length))
	b = append(b, 0, 0, 0x40, 0) // identification 0, do not fragment
	b = append(b, hopLimit, p.proto.number(p.src.Addr()), 0, 0)
	b = append(b, p.src.Addr().AsSlice()...)
	b = append(b, p.dst.Addr().AsSlice()...)
	binary.BigEndian.PutUint16(b[10:], fold(onesSum(0, b)))
	return b
}

// ipv6 writes a header as RFC 8200 has it, without extensions.
func (p packet) ipv6(length int) []byte {
	b := make([]byte, 0, 40+length)
	b = append(b, 0x60, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(length))
	b = append(b, p.proto.number(p.src.Addr()), hopLimit)
	b = append(b, p.src.Addr().AsSlice()...)
	return append(b, p.dst.Addr().AsSlice()...)
}

// hopLimit is the TTL or hop limit of packets sent.
const hopLimit = 64

func (p packet) ports() []byte {
	b := binary.BigEndian.AppendUint16(nil, p.src.Port())
	return binary.BigEndian.AppendUint16(b, p.dst.Port())
}

// tcp writes a segment as RFC 9293 has it. A SYN has no payload; later ones do,
// and carry the token there.
func (p packet) tcp() []byte {
	seq, ack, flags := p.token, uint32(0), byte(tcpSYN)
	var payload []byte
	switch p.stage {
	case stageFirst:
	case stageAnswer:
		ack, flags = p.peer+1, tcpSYN|tcpACK
	case stageLater:
		seq, ack, flags = p.own+1, p.peer+1, tcpPSH|tcpACK
		payload = p.payload()
	}
	b := binary.BigEndian.AppendUint32(p.ports(), seq)
	b = binary.BigEndian.AppendUint32(b, ack)
	b = append(b, 5<<4, flags, 0xff, 0xff) // no options, widest window
	b = append(b, 0, 0, 0, 0)
	return append(b, payload...)
}

func (p packet) udp() []byte {
	b := binary.BigEndian.AppendUint16(p.ports(), uint16(8+len(p.payload())))
	b = append(b, 0, 0)
	return append(b, p.payload()...)
}

// sctp writes a packet of one chunk as RFC 9260 has it. The verification tag is
// the initiate tag that the receiver has chosen, 0 in an INIT.
func (p packet) sctp() []byte {
	tag := p.peer
	if p.stage == stageFirst {
		tag = 0
	}
	b := binary.BigEndian.AppendUint32(p.ports(), tag)
	b = append(b, 0, 0, 0, 0)
	switch p.stage {
	case stageFirst:
		return append(b, chunk(sctpInit, p.initChunk())...)
	case stageAnswer:
		cookie := append([]byte{0, sctpCookie, 0, byte(4 + len(p.payload()))}, p.payload()...)
		return append(b, chunk(sctpInitAck, append(p.initChunk(), cookie...))...)
	default:
		return append(b, chunk(sctpCookieEcho, p.payload())...)
	}
}

// initChunk is the fixed part of INIT and INIT ACK.
func (p packet) initChunk() []byte {
	b := binary.BigEndian.AppendUint32(nil, p.token)
	b = binary.BigEndian.AppendUint32(b, 1<<16) // receiver window
	b = append(b, 0, 1, 0, 1)                   // streams out and in
	return binary.BigEndian.AppendUint32(b, p.token)
}

// chunk puts a header before an SCTP chunk whose length is a multiple of four.
func chunk(typ byte, value []byte) []byte {
	b := binary.BigEndian.AppendUint16([]byte{typ, 0}, uint16(4+len(value)))
	return append(b, value...)
}

// icmp writes an echo request or reply (RFC 792, RFC 4443).
func (p packet) icmp() []byte {
	request, reply := byte(icmpEchoRequest), byte(icmpEchoReply)
	if p.src.Addr().Is6() {
		request, reply = icmp6EchoRequest, icmp6EchoReply
	}
	typ, id := request, p.src.Port()
	if p.stage == stageAnswer {
		typ, id = reply, p.dst.Port()
	}
	b := binary.BigEndian.AppendUint16([]byte{typ, 0, 0, 0}, id)
	b = append(b, 0, 1) // sequence number
	return append(b, p.payload()...)
}
