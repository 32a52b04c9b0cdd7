package nft

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// Chain is an nftables chain with its rules.
type Chain struct {
	// Name is the chain's name within its table.
	Name string
	// Base is nil for a chain that is only gone to by others.
	Base *BaseChain
	// Rules are run in order.
	Rules []Rule
}

// BaseChain is where a chain hangs in the packet's way. All of nearside's are
// of type nat, which sees the first packet of a connection only.
type BaseChain struct {
	Hook     Hook
	Priority int32
}

// Hook is a place in the packet's way through the kernel.
type Hook uint32

const (
	hookPrerouting  Hook = unix.NF_INET_PRE_ROUTING
	hookOutput      Hook = unix.NF_INET_LOCAL_OUT
	hookPostrouting Hook = unix.NF_INET_POST_ROUTING
)

// String returns the hook as nft writes it.
func (h Hook) String() string {
	switch h {
	case hookPrerouting:
		return "prerouting"
	case hookOutput:
		return "output"
	case hookPostrouting:
		return "postrouting"
	}
	return "hook-" + utoa(uint32(h))
}

// priorityText writes a priority as nft does: by name where it has one.
func (b *BaseChain) priorityText() string {
	switch {
	case b.Hook == hookPrerouting && b.Priority == -100:
		return "dstnat"
	case b.Hook == hookPostrouting && b.Priority == 100:
		return "srcnat"
	}
	return strconv.Itoa(int(b.Priority))
}

// program is what a frontend makes of a new connection. Frontends of equal
// shape share one, so there are as many chains as there are shapes and not as
// there are services.
type program struct {
	kind  programKind
	slots uint32 // for programPick
}

type programKind uint8

const (
	programRefuse programKind = iota
	programDrop
	programPick
)

// programFor returns the program of a frontend with that many slots.
func programFor(slots int, empty Verdict) program {
	switch {
	case slots > 0:
		return program{kind: programPick, slots: uint32(slots)}
	case empty == Drop:
		return program{kind: programDrop}
	default:
		return program{kind: programRefuse}
	}
}

// ownChain reports whether the program needs a chain of its own.
func (p program) ownChain() bool { return p.kind == programPick }

// chainName is the chain that the program runs in, "" for a plain drop.
func (p program) chainName() string {
	switch p.kind {
	case programPick:
		return "pick-" + utoa(p.slots)
	case programRefuse:
		return chainRefuse
	default:
		return ""
	}
}

// chain makes the program's own chain.
func (p program) chain(f Family) *Chain {
	return &Chain{Name: p.chainName(), Rules: []Rule{makeRule(dnatToRandomSlot(f, setBackends, p.slots, 0))}}
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
	if a.kind != b.kind {
		return int(a.kind) - int(b.kind)
	}
	return int(a.slots) - int(b.slots)
}
