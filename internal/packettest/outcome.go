package packettest

import (
	"fmt"
	"net/netip"
)

// Kind is what became of a packet.
type Kind uint8

const (
	// Dropped means that nothing came out anywhere.
	Dropped Kind = iota
	// Delivered means that it came out with another destination than it was
	// sent to; of an answer, that it reached the client.
	Delivered
	// Untouched means that it came out with the destination it was sent to.
	Untouched
	// Refused means that the sender got a TCP reset or an ICMP error that its
	// kernel would take for an answer to it.
	Refused
)

// String returns the kind in lower case.
func (k Kind) String() string {
	switch k {
	case Dropped:
		return "dropped"
	case Delivered:
		return "delivered"
	case Untouched:
		return "untouched"
	case Refused:
		return "refused"
	}
	return "unknown"
}

// Refusal is how a packet was refused.
type Refusal uint8

const (
	// NotRefused is that of any other outcome.
	NotRefused Refusal = iota
	// Reset is a TCP reset.
	Reset
	// PortUnreachable is ICMP destination unreachable, port unreachable: type 3
	// code 3, in IPv6 type 1 code 4.
	PortUnreachable
	// OtherUnreachable is ICMP destination unreachable with another code.
	OtherUnreachable
)

// String returns the refusal in words.
func (r Refusal) String() string {
	switch r {
	case NotRefused:
		return "not refused"
	case Reset:
		return "TCP reset"
	case PortUnreachable:
		return "ICMP port unreachable"
	case OtherUnreachable:
		return "ICMP unreachable, but not port unreachable"
	}
	return "unknown"
}

// Outcome is what became of a packet.
type Outcome struct {
	Kind Kind
	// To is the destination it came out with, Source its source as the receiver
	// sees it. Both are zero unless it came out.
	To, Source netip.AddrPort
	// Masqueraded tells that the source is not the sender's, be it the address
	// or, where the address happens to be right, the port. A port that is chosen
	// at random is the sender's once in 64,512 times.
	Masqueraded bool
	// Via is the side it came out on.
	Via Side
	// Refusal tells how it was refused.
	Refusal Refusal

	flow *flow
}

// String describes the outcome for people.
func (o Outcome) String() string {
	switch o.Kind {
	case Delivered, Untouched:
		source := "its own source"
		if o.Masqueraded {
			source = "source " + o.Source.String() + " for its own"
		}
		return fmt.Sprintf("%v to %v in %v with %s", o.Kind, o.To, o.Via, source)
	case Refused:
		return fmt.Sprintf("%v by %v", o.Kind, o.Refusal)
	default:
		return o.Kind.String()
	}
}
