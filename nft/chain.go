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
	case hookForeign:
		return "of another type"
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
