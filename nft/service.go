package nft

import "net/netip"

// A Service is the unit of change of a Table: the frontends that appear,
// change and vanish together.
type Service struct {
	// Name identifies the service within a Table, for instance
	// "namespace/name". It appears in problems and errors, never in the kernel.
	Name string
	// Rank decides who owns an address that two services claim: the lower rank,
	// then the lesser name. A creation time in Unix seconds makes a good rank.
	Rank int64
	// Frontends are what clients dial.
	Frontends []Frontend
}

// A Frontend is one address that clients dial, and where that leads.
type Frontend struct {
	// Port names the service port in problems and errors. It may be empty.
	Port string
	// Addr and Protocol are the address, port and protocol that are dialled.
	Addr     netip.AddrPort
	Protocol Protocol
	// Backends get the connections, each in proportion to its weight.
	Backends []Backend
	// Empty is what a client meets while Backends is empty.
	Empty Verdict
}

// A Backend is one destination of a frontend.
type Backend struct {
	// Addr is the address and port connections are sent to.
	Addr netip.AddrPort
	// Weight is the number of slots the backend owns, at least 1.
	Weight int
	// Local marks a backend on this node. A connection from it that comes back
	// to it (hairpin) needs masquerade to be answered.
	Local bool
}

// Protocol is a transport protocol by its IP protocol number.
type Protocol uint8

// The protocols of the Service API, numbered as IANA does.
const (
	TCP  Protocol = 6
	UDP  Protocol = 17
	SCTP Protocol = 132
)

// String returns the protocol's name as nft writes it.
func (p Protocol) String() string {
	switch p {
	case TCP:
		return "tcp"
	case UDP:
		return "udp"
	case SCTP:
		return "sctp"
	}
	return "unknown"
}

// Verdict is what happens to a connection to a frontend without backends.
type Verdict uint8

const (
	// Reject answers with a TCP reset, or ICMP port unreachable otherwise.
	Reject Verdict = iota
	// Drop stays silent.
	Drop
)
