package packettest

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

// Protocol is what a probe speaks, by its IP protocol number. ICMP stands for
// ICMPv6 as well, which has another number.
type Protocol uint8

// The protocols that probes may speak.
const (
	TCP  Protocol = unix.IPPROTO_TCP
	UDP  Protocol = unix.IPPROTO_UDP
	SCTP Protocol = unix.IPPROTO_SCTP
	// ICMP is an echo request. Its identifier takes the place of the source
	// port, and it has no destination port.
	ICMP Protocol = unix.IPPROTO_ICMP
)

// protocols lists all of them.
var protocols = []Protocol{TCP, UDP, SCTP, ICMP}

// String returns the protocol's name in lower case.
func (p Protocol) String() string {
	switch p {
	case TCP:
		return "tcp"
	case UDP:
		return "udp"
	case SCTP:
		return "sctp"
	case ICMP:
		return "icmp"
	}
	return "unknown"
}

// number is the protocol's number in packets from or to an address.
func (p Protocol) number(a netip.Addr) byte {
	if p == ICMP && a.Is6() {
		return unix.IPPROTO_ICMPV6
	}
	return byte(p)
}

// protocolOf is the inverse of number.
func protocolOf(number byte) Protocol {
	if number == unix.IPPROTO_ICMPV6 {
		return ICMP
	}
	return Protocol(number)
}
