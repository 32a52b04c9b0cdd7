package semantics

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nearside/nearside/agent"
	"github.com/nearside/nearside/internal/packettest"
	"github.com/nearside/nearside/nft"
)

// row is a sentence about what becomes of connections. It is written in IPv4
// and true in both families.
type row struct {
	// shows names the statements that the row is about, separated by spaces.
	shows string
	// name is the sentence.
	name string
	// options change the agent's, which runs on node-a and knows pods by
	// 10.1.0.0/16 and its twin.
	options func(*agent.Options)
	// given are the objects there are in the beginning, next to the three nodes.
	given []runtime.Object
	// want says what becomes of connections then.
	want []probe
	// then are later steps.
	then []step
	// dualStack tells that the objects have both families already.
	dualStack bool
	// only says why the row is about IPv4 alone. Empty: it is about both.
	only string
}

// step is a change, and what becomes of connections after it.
type step struct {
	// when says what happens.
	when string
	// change adds or replaces objects, remove deletes them.
	change, remove []runtime.Object
	// act does whatever else there is to do or to look at.
	act func(t *testing.T, s *stage)
	// want says what becomes of connections then.
	want []probe
}

// probe is a connection from somewhere to somewhere and how it ends up. Of
// several ways, each has to come about if it is tried often enough.
type probe struct {
	from packettest.Source
	to   string
	// speaking lists protocols. None: TCP, UDP and SCTP.
	speaking []packettest.Protocol
	want     []ending
}

// ending is one way in which a connection may end up.
type ending struct {
	kind packettest.Kind
	at   string // address and port it came out with
	// masqueraded tells that it has an address of the node for its own.
	masqueraded bool
}

func reaches(endpoints ...string) (all []ending) {
	for _, e := range endpoints {
		all = append(all, ending{kind: packettest.Delivered, at: e})
	}
	return all
}

func reachesMasqueraded(endpoints ...string) []ending {
	all := reaches(endpoints...)
	for i := range all {
		all[i].masqueraded = true
	}
	return all
}

var (
	refused   = []ending{{kind: packettest.Refused}}
	dropped   = []ending{{kind: packettest.Dropped}}
	untouched = []ending{{kind: packettest.Untouched}}

	transports = []packettest.Protocol{packettest.TCP, packettest.UDP, packettest.SCTP}
	onlyTCP    = transports[:1]
	onlyUDP    = transports[1:2]
	onlyEcho   = []packettest.Protocol{packettest.ICMP}
)

const (
	// fewProbes show that one way of several is not taken: of two that are
	// taken equally, one stays out once in 4096.
	fewProbes = 12
	// manyProbes for each further way make all of them come about: of two equal
	// ways one stays out once in 2^59.
	manyProbes = 60
)

func TestSemantics(t *testing.T) {
	lab := packettest.New(t, packettest.Options{})
	for _, s := range statements {
		rows := rowsOf(s.number)
		if len(rows) == 0 {
			continue
		}
		t.Run(s.number, func(t *testing.T) {
			for _, r := range rows {
				t.Run(r.name, func(t *testing.T) { r.run(t, lab) })
			}
		})
	}
}

func rowsOf(statement string) (found []row) {
	for _, r := range allRows() {
		for s := range strings.FieldsSeq(r.shows) {
			if s == statement {
				found = append(found, r)
			}
		}
	}
	return found
}

func (r row) run(t *testing.T, lab *packettest.Lab) {
	t.Helper()
	for _, f := range nft.Families {
		if r.only != "" && f == nft.IPv6 {
			continue
		}
		t.Run(f.String(), func(t *testing.T) {
			s := newStage(t, lab, f, &r)
			s.checkAll(t, "at the beginning", r.want)
			for _, step := range r.then {
				if step.change != nil {
					s.change(t, step.change...)
				}
				if step.remove != nil {
					s.remove(t, step.remove...)
				}
				if step.act != nil {
					step.act(t, s)
				}
				s.checkAll(t, step.when, step.want)
			}
		})
	}
}

func (s *stage) checkAll(t *testing.T, when string, probes []probe) {
	t.Helper()
	for _, p := range probes {
		speaking := p.speaking
		if speaking == nil {
			speaking = transports
		}
		for _, proto := range speaking {
			s.check(t, p, proto, fmt.Sprintf("%s: %v from %v %v to %s", when, proto, p.from.Side, p.from.Addr, p.to))
		}
	}
}

// check probes until every way in which the probe may end has come about.
func (s *stage) check(t *testing.T, p probe, proto packettest.Protocol, what string) {
	t.Helper()
	open := map[ending]bool{}
	for _, e := range p.want {
		open[e] = true
	}
	least, most := 1, 1+manyProbes*(len(p.want)-1)
	if p.want[0].kind == packettest.Delivered {
		least, most = fewProbes, max(fewProbes, most)
	}
	for i := 0; i < most && (i < least || len(open) > 0); i++ {
		got := s.open(t, packettest.Probe{From: p.from, To: netip.MustParseAddrPort(p.to), Proto: proto})
		e := s.endingOf(p, got)
		require.Contains(t, p.want, e, "%s: %v", what, got)
		if got.Kind == packettest.Refused {
			want := packettest.PortUnreachable
			if proto == packettest.TCP {
				want = packettest.Reset
			}
			require.Equal(t, want, got.Refusal, what)
		}
		delete(open, e)
	}
	require.Empty(t, open, "%s: these never came about", what)
}

// endingOf finds the ending that an outcome is, or else tells what it is.
func (s *stage) endingOf(p probe, got packettest.Outcome) ending {
	e := ending{kind: got.Kind}
	if got.Kind == packettest.Delivered || got.Kind == packettest.Untouched {
		e.masqueraded = got.Masqueraded
	}
	if got.Kind != packettest.Delivered {
		return e
	}
	for _, w := range p.want {
		if w.kind == packettest.Delivered && s.addr(w.at) == got.To {
			e.at = w.at
			// Masqueraded is only what has the node's address on that link.
			if got.Masqueraded && got.Via != packettest.Node && got.Source.Addr() != s.addressOn(got.Via) {
				e.at += " with source " + got.Source.String()
			}
			return e
		}
	}
	e.at = got.To.String()
	return e
}

// addressOn is the node's address on the link to a side.
func (s *stage) addressOn(side packettest.Side) netip.Addr {
	if side == packettest.Pods {
		return s.addr("10.1.1.1:0").Addr()
	}
	return s.addr("192.0.2.11:0").Addr()
}
