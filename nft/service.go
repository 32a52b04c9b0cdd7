package nft

import (
	"net/netip"
	"time"
)

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
	// The unspecified address (0.0.0.0 or ::) makes a node port: it is served
	// on the addresses given to Table.SetNodeAddrs.
	Addr     netip.AddrPort
	Protocol Protocol
	// Kind decides which connections get a new source address.
	Kind Kind
	// Backends get the connections, each in proportion to its weight.
	Backends []Backend
	// Empty is what a client meets while Backends is empty.
	Empty Verdict
	// Outside, if not nil, is for clients that are neither pods nor on this
	// node: they get its backends, and keep their source address. Then Backends
	// are for pods and for the node itself.
	Outside *Pool
	// Sources, if not empty, are the only addresses that may connect; packets
	// from elsewhere are dropped. Prefixes of the other family do not count: if
	// no other is left, nobody may connect.
	Sources []netip.Prefix
	// Sticky, if not nil, sends a client back to the endpoint it had before.
	Sticky *Sticky
}

// Sticky says how long and with whom a frontend remembers its clients.
type Sticky struct {
	// Group joins frontends of one service and protocol: what one of them learns
	// of a client they all know. Each keeps to its own backends all the same.
	Group string
	// Timeout is the time after its last new connection for which a client is
	// remembered, in whole seconds, at least one.
	Timeout time.Duration
}

// A Pool is a set of backends.
type Pool struct {
	// Backends get the connections, each in proportion to its weight.
	Backends []Backend
	// Empty is what a client meets while Backends is empty.
	Empty Verdict
}

// Kind is the kind of address that a frontend has.
type Kind uint8

const (
	// ClusterIP is an address for clients in the cluster. Connections from
	// elsewhere get a source address of this node, as Config says. Ports of it
	// that are no frontend are refused.
	ClusterIP Kind = iota
	// External is an address for clients outside: a node port, a load
	// balancer's or an external address. Every connection gets a source address
	// of this node; with Outside only those that start on the node do.
	External
)

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
