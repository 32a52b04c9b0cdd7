package packettest

import (
	"encoding/binary"
	"net/netip"
)

// parsed is what a lab reads out of a packet it sees.
type parsed struct {
	src, dst netip.AddrPort
	proto    Protocol
	// token is that of the packet sent, 0 if the packet is none of a lab's.
	token uint32
	// echoed marks an ICMP echo reply, which repeats the token of its request.
	echoed bool
	// intact tells that the transport checksum is right.
	intact bool
	// reset marks a TCP reset, which acknowledges sequence number ack.
	reset bool
	ack   uint32
	// quoted is the packet that an ICMP error complains about.
	quoted *parsed
	// portUnreachable tells one ICMP error from all others.
	portUnreachable bool
}

// parse reads a packet from its IP header on. It returns false for what cannot
// be an answer to anything a lab sends.
func parse(b []byte) (parsed, bool) {
	if len(b) < 20 {
		return parsed{}, false
	}
	switch b[0] >> 4 {
	case 4:
		header, total := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
		if header < 20 || total < header || len(b) < total {
			return parsed{}, false
		}
		return parseSegment(addrOf(b[12:16]), addrOf(b[16:20]), protocolOf(b[9]), b[header:total], false)
	case 6:
		if len(b) < 40 || len(b) < 40+int(binary.BigEndian.Uint16(b[4:])) {
			return parsed{}, false
		}
		segment := b[40 : 40+int(binary.BigEndian.Uint16(b[4:]))]
		return parseSegment(addrOf(b[8:24]), addrOf(b[24:40]), protocolOf(b[6]), segment, false)
	}
	return parsed{}, false
}

func addrOf(b []byte) netip.Addr {
	a, _ := netip.AddrFromSlice(b)
	return a
}

// parseSegment reads a transport segment. One that an ICMP error quotes may be
// cut off behind its ports.
func parseSegment(src, dst netip.Addr, proto Protocol, b []byte, quoted bool) (parsed, bool) {
	minimum := map[Protocol]int{TCP: 20, UDP: 8, SCTP: 16, ICMP: 8}[proto]
	if minimum == 0 || len(b) < 8 || !quoted && len(b) < minimum {
		return parsed{}, false
	}
	p := parsed{proto: proto}
	if proto == ICMP {
		p.icmp(src, dst, b)
	} else {
		p.src = netip.AddrPortFrom(src, binary.BigEndian.Uint16(b))
		p.dst = netip.AddrPortFrom(dst, binary.BigEndian.Uint16(b[2:]))
	}
	if quoted {
		return p, true
	}
	p.intact = checksumGood(proto, src, dst, b)
	switch proto {
	case TCP:
		p.tcp(b)
	case SCTP:
		p.sctp(b)
	default:
		p.token = tokenIn(b[8:])
	}
	return p, true
}

func (p *parsed) tcp(b []byte) {
	p.reset, p.ack = b[13]&tcpRST != 0, binary.BigEndian.Uint32(b[8:])
	header := int(b[12]>>4) * 4
	if p.reset || header < 20 || header > len(b) {
		return
	}
	if p.token = tokenIn(b[header:]); p.token == 0 {
		p.token = binary.BigEndian.Uint32(b[4:])
	}
}

func (p *parsed) sctp(b []byte) {
	switch typ := b[12]; {
	case (typ == sctpInit || typ == sctpInitAck) && len(b) >= 20:
		p.token = binary.BigEndian.Uint32(b[16:])
	case typ == sctpCookieEcho:
		p.token = tokenIn(b[16:])
	}
}

// icmp reads what stands in front of an ICMP payload, and what an error quotes.
func (p *parsed) icmp(src, dst netip.Addr, b []byte) {
	p.src, p.dst = netip.AddrPortFrom(src, 0), netip.AddrPortFrom(dst, 0)
	id := binary.BigEndian.Uint16(b[4:])
	v6 := src.Is6()
	switch typ := b[0]; {
	case !v6 && typ == icmpEchoRequest, v6 && typ == icmp6EchoRequest:
		p.src = netip.AddrPortFrom(src, id)
	case !v6 && typ == icmpEchoReply, v6 && typ == icmp6EchoReply:
		p.dst, p.echoed = netip.AddrPortFrom(dst, id), true
	case !v6 && typ == icmpUnreachable:
		p.portUnreachable = b[1] == icmpPortUnreachable
		p.quoted = parseQuoted(b[8:])
	case v6 && typ == icmp6Unreachable:
		p.portUnreachable = b[1] == icmp6PortUnreachable
		p.quoted = parseQuoted(b[8:])
	}
}

// parseQuoted reads the start of a packet within an ICMP error.
func parseQuoted(b []byte) *parsed {
	var p parsed
	var ok bool
	switch {
	case len(b) >= 20 && b[0]>>4 == 4 && len(b) >= int(b[0]&15)*4:
		p, ok = parseSegment(addrOf(b[12:16]), addrOf(b[16:20]), protocolOf(b[9]), b[int(b[0]&15)*4:], true)
	case len(b) >= 40 && b[0]>>4 == 6:
		p, ok = parseSegment(addrOf(b[8:24]), addrOf(b[24:40]), protocolOf(b[6]), b[40:], true)
	}
	if !ok {
		return nil
	}
	return &p
}

// tokenIn finds the token in a payload, 0 if there is none.
func tokenIn(payload []byte) uint32 {
	if len(payload) < len(payloadMagic)+4 || string(payload[:len(payloadMagic)]) != payloadMagic {
		return 0
	}
	return binary.BigEndian.Uint32(payload[len(payloadMagic):])
}
