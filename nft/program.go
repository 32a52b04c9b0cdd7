package nft

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"slices"
	"strings"
	"time"
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
	// memory belongs to programSticky: where clients are looked up; and to
	// programLearn: where they are put down, several with commas.
	memory  string
	proto   Protocol      // of programSticky
	timeout time.Duration // of programLearn
	then    programKind   // of programLearn
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
	programMasqueradeCluster
	programSticky
	programLearn
	programAllowed
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
func (p program) ownChain() bool {
	switch p.kind {
	case programPick, programRanged, programSticky, programLearn:
		return true
	}
	return false
}

// picks returns the program that picks a slot where a sticky one remembers
// nothing.
func (p program) picks() program {
	return program{kind: programPick, slots: p.slots, node: p.node, outside: p.outside}
}

// chainName is the chain that the program runs in, "" for a plain drop.
func (p program) chainName() string {
	var name string
	switch p.kind {
	case programPick:
		name = "pick-" + utoa(p.slots)
		if p.outside {
			name = "pick-outside-" + utoa(p.slots)
		}
	case programRanged:
		name = "from-" + hashName(p.sources)
	case programSticky:
		name = "sticky-" + p.memory + "-" + utoa(p.slots)
	case programLearn:
		return "learn-" + hashName(p.memory, p.timeout.String(), utoa(uint32(p.then)))
	case programBySource:
		name = chainBySource
	case programAllowed:
		name = chainAllowed
	case programRefuse:
		return chainRefuse
	case programMasquerade:
		return chainMasquerade
	case programMasqueradeNode:
		return chainMasqueradeNode
	case programMasqueradeCluster:
		return chainMasqueradeCluster
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

// hashName makes a name of words that may not stand in one themselves. The words
// come from objects that anyone may write, so the name is long enough that
// nobody can find two lists of words with the same one.
func hashName(words ...string) string {
	const bytes = 14
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(sum[:bytes])
}

// chain makes the program's own chain.
func (p program) chain(f Family) *Chain {
	return &Chain{Name: p.chainName(), Rules: p.rules(f)}
}

func (p program) rules(f Family) (rules []Rule) {
	switch p.kind {
	case programPick:
		offset := uint32(0)
		if p.outside {
			offset = outsideSlots
		}
		return p.pickRules(f, offset)
	case programSticky:
		return []Rule{
			makeRule(dnatToRemembered(f, p.proto, clientsPrefix+p.memory)),
			makeRule(gotoChain(p.picks().chainName())),
		}
	case programLearn:
		for memory := range strings.SplitSeq(p.memory, ",") {
			rules = append(rules, makeRule(matchTarget(f, membersPrefix+memory), learn(f, clientsPrefix+memory, p.timeout)))
		}
		return append(rules, makeRule(gotoChain(program{kind: p.then}.chainName())))
	}
	allowed := gotoChain(program{kind: programAllowed, node: p.node}.chainName())
	for prefix := range strings.SplitSeq(p.sources, ",") {
		if prefix != "" {
			rules = append(rules, makeRule(matchSource(f, netip.MustParsePrefix(prefix), true), allowed))
		}
	}
	return append(rules, makeRule(drop()))
}

// pickRules picks a slot. A commit may take slots away between the moment when
// a packet was sent here and the moment when it looks its slot up: then the
// first slot serves, which a frontend with endpoints always has. If it has none
// any more, the packet is dropped; when the client repeats it, the frontend
// leads elsewhere. Without this it would leave the node untranslated.
func (p program) pickRules(f Family, offset uint32) []Rule {
	rules := []Rule{makeRule(dnatToRandomSlot(f, p.node, setBackends, p.slots, offset))}
	if p.slots > 1 {
		rules = append(rules, makeRule(dnatToRandomSlot(f, p.node, setBackends, 1, offset)))
	}
	return append(rules, makeRule(drop()))
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
		cmp.Compare(a.memory, b.memory),
		cmp.Compare(a.proto, b.proto),
		cmp.Compare(a.timeout, b.timeout),
		cmp.Compare(a.then, b.then),
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
