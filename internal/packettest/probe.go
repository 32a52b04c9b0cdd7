package packettest

import (
	"net/netip"
	"testing"
)

// Probe is the first packet of a connection.
type Probe struct {
	// From is where it comes from.
	From Source
	// To is what it dials. For ICMP the port is 0.
	To netip.AddrPort
	// Proto is what it speaks.
	Proto Protocol
	// SourcePort is its source port. 0 stands for one that was not used before,
	// so that no earlier connection decides its fate.
	SourcePort uint16
}

// To parses what a probe dials: an address and port.
func To(addr string) netip.AddrPort { return netip.MustParseAddrPort(addr) }

// Twin returns the probe that plays the same part in IPv6.
func (p Probe) Twin() Probe {
	p.From, p.To = p.From.Twin(), TwinPort(p.To)
	return p
}

// flow is what a lab remembers of a connection.
type flow struct {
	from   Side
	client netip.AddrPort
	dialed netip.AddrPort
	proto  Protocol
	own    uint32 // token of the first packet
	peer   uint32 // of the first answer, 0 before
}

// Probe sends the first packet of a connection and returns what became of it.
func (l *Lab) Probe(t testing.TB, p Probe) Outcome {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	f := &flow{from: p.From.Side, dialed: p.To, proto: p.Proto, own: l.nextToken()}
	addr, port := p.From.Addr, p.SourcePort
	if !addr.IsValid() {
		addr = l.NodeAddr(p.To.Addr())
	}
	if addr.Is4() != p.To.Addr().Is4() {
		t.Fatalf("probe from %v to %v: the addresses are of two families", addr, p.To)
	}
	if port == 0 {
		var err error
		if port, err = l.nextPort(p.Proto); err != nil {
			t.Fatal(err)
		}
	}
	f.client = netip.AddrPortFrom(addr, port)
	return l.exchange(t, f.from, f.first(f.own), f)
}

// first is the packet that opens the connection.
func (f *flow) first(token uint32) packet {
	return packet{src: f.client, dst: f.dialed, proto: f.proto, stage: stageFirst, token: token, own: f.own}
}

// Again sends a later packet of a connection: TCP data, a further datagram, an
// SCTP COOKIE ECHO. Where nobody has answered yet, it is the first one again,
// as a client would repeat it. It is not for TCP from the node itself once
// Reply was called: the node's kernel knows nothing of the connection and
// resets it.
func (l *Lab) Again(t testing.TB, o Outcome) Outcome {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	f := o.flow
	if f.peer == 0 && (f.proto == TCP || f.proto == SCTP) {
		return l.exchange(t, f.from, f.first(f.own), f)
	}
	p := f.first(l.nextToken())
	p.stage, p.peer = stageLater, f.peer
	return l.exchange(t, f.from, p, f)
}

// Reply has the receiver of a packet answer it, and returns what became of the
// answer: delivered if it reached the client, with the source that the client
// takes it to come from. A TCP or SCTP receiver that has answered before
// repeats its answer.
func (l *Lab) Reply(t testing.TB, o Outcome) Outcome {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if o.Kind != Delivered && o.Kind != Untouched {
		t.Fatalf("reply to a packet that was %v: nobody has got it", o)
	}
	f := o.flow
	token := f.peer
	if token == 0 || f.proto == UDP || f.proto == ICMP {
		token = l.nextToken()
	}
	p := packet{src: o.To, dst: o.Source, proto: f.proto, stage: stageAnswer, token: token, peer: f.own}
	got := l.exchange(t, o.Via, p, f)
	got.Masqueraded = false // an answer's source is put back, if anything
	if got.Kind == Untouched {
		got.Kind = Delivered // to the one it was sent to
	}
	if got.Kind == Delivered {
		if got.To != f.client || got.Via != f.from {
			t.Fatalf("the answer was %v, but the client is %v in %v", got, f.client, f.from)
		}
		f.peer = token
	}
	return got
}
