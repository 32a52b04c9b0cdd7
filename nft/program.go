package nft

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"slices"
	"strings"
)

// program is what a map of verdicts makes of a new connection. Frontends of
// equal shape share one, so there are as many chains as there are shapes and
// not as there are services.
type program struct {
	kind programKind
	// node: the frontend is a node port.
	node bool
	// slots and outside belong to programPick: how many there are, and whether
	// they are those for clients outside.
	slots   uint32
	outside bool
	// sources belongs to programRanged: the prefixes in order, with commas.
	sources string
}

type programKind uint8

const (
	programNone programKind = iota // the frontend is not in the map
	programRefuse
	programDrop
	programPick
	programRanged
	programBySource
	programMasquerade
	programMasqueradeNode
)

// outsideSlots is the number of the first slot for clients outside.
const outsideSlots = MaxSlots + 1

// programFor returns the program that picks one of the slots.
func programFor(slots int, empty Verdict, node, outside bool) program {
	switch {
	case slots > 0:
		return program{kind: programPick, slots: uint32(slots), node: node, outside: outside}
	case empty == Drop:
		return program{kind: programDrop}
	default:
		return program{kind: programRefuse}
	}
}

// ownChain reports whether the program needs a chain of its own.
func (p program) ownChain() bool { return p.kind == programPick || p.kind == programRanged }

// chainName is the chain that the program runs in, "" for a plain drop.
func (p program) chainName() string {
	name := ""
	switch p.kind {
	case programPick:
		name = "pick-" + utoa(p.slots)
		if p.outside {
			name = "pick-outside-" + utoa(p.slots)
		}
	case programRanged:
		sum := sha256.Sum256([]byte(p.sources))
		name = "from-" + hex.EncodeToString(sum[:6])
	case programBySource:
		name = chainBySource
	case programRefuse:
		return chainRefuse
	case programMasquerade:
		return chainMasquerade
	case programMasqueradeNode:
		return chainMasqueradeNode
	default:
		return ""
	}
	if p.node {
		return nodePrefix + name
	}
	return name
}

// nodePrefix begins the names of chains for node ports.
const nodePrefix = "node-"

// chain makes the program's own chain.
func (p program) chain(f Family) *Chain {
	c := &Chain{Name: p.chainName()}
	if p.kind == programPick {
		offset := uint32(0)
		if p.outside {
			offset = outsideSlots
		}
		c.Rules = []Rule{makeRule(dnatToRandomSlot(f, p.node, setBackends, p.slots, offset))}
		return c
	}
	for prefix := range strings.SplitSeq(p.sources, ",") {
		if prefix != "" {
			c.Rules = append(c.Rules, makeRule(matchSource(f, netip.MustParsePrefix(prefix), true), vmapDialled(f, p.node, setAllowed)))
		}
	}
	c.Rules = append(c.Rules, makeRule(drop()))
	return c
}

// putVerdict writes the verdict that leads to the program.
func (p program) putVerdict(data []byte) {
	if p.kind == programDrop {
		putVerdict(data, verdictDrop, "")
		return
	}
	putVerdict(data, verdictGoto, p.chainName())
}

func comparePrograms(a, b program) int {
	return cmp.Or(
		cmp.Compare(a.kind, b.kind),
		compareBools(a.node, b.node),
		compareBools(a.outside, b.outside),
		cmp.Compare(a.slots, b.slots),
		cmp.Compare(a.sources, b.sources),
	)
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// sourcesOf writes the prefixes of a family in order, each once, for
// program.sources. A /0 lets everyone in: then all reports true.
func sourcesOf(f Family, prefixes []netip.Prefix) (sources string, all bool) {
	var list []string
	for _, p := range prefixes {
		if !p.IsValid() || FamilyOf(p.Addr()) != f {
			continue
		}
		if p.Bits() == 0 {
			return "", true
		}
		list = append(list, p.Masked().String())
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ","), false
}

// shape is the way of a frontend's connections through the maps of verdicts.
type shape struct {
	exists      bool
	kind        Kind
	pick        program
	split       bool // clients outside have slots of their own
	pickOutside program
	ranged      bool
	sources     string
}

// programs returns what the frontend has in each map of verdicts.
func (s shape) programs(node bool) (p [setCount]program) {
	if !s.exists {
		return p
	}
	entry := frontendsSet
	if s.ranged {
		p[entry] = program{kind: programRanged, node: node, sources: s.sources}
		entry = allowedSet
	}
	p[entry] = s.pick
	if s.split && (s.pick.ownChain() || s.pick.kind != s.pickOutside.kind) {
		p[entry] = program{kind: programBySource, node: node}
		p[insideSet], p[outsideSet] = s.pick, s.pickOutside
	}
	if s.kind == External {
		p[externalSet] = program{kind: programMasquerade}
		if s.split {
			p[externalSet] = program{kind: programMasqueradeNode}
		}
	}
	return p
}
