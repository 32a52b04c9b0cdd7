package packettest

import "net/netip"

// Side is one of the three places that packets come from and go to.
type Side uint8

const (
	// World is whatever lies beyond the node's default route: clients, other
	// nodes and their pods.
	World Side = iota
	// Pods are the pods of this node.
	Pods
	// Node is the node itself.
	Node
)

// String returns the side's name.
func (s Side) String() string {
	switch s {
	case World:
		return "the world"
	case Pods:
		return "this node's pods"
	case Node:
		return "the node itself"
	}
	return "nowhere"
}

// Source is where a probe comes from.
type Source struct {
	// Side is the place it is injected at.
	Side Side
	// Addr is its source address. On the Node side the zero address stands for
	// the node's first one.
	Addr netip.Addr
}

// Pod is a pod of this node. The address need not exist.
func Pod(addr string) Source { return Source{Side: Pods, Addr: netip.MustParseAddr(addr)} }

// Outside is any address beyond the node: a client outside the cluster, another
// node, or a pod of another node.
func Outside(addr string) Source { return Source{Side: World, Addr: netip.MustParseAddr(addr)} }

// Host is a process of the node that leaves the choice of its address to the
// kernel, or a pod on the host's network.
func Host() Source { return Source{Side: Node} }

// HostAt is a process of the node bound to one of its addresses.
func HostAt(addr string) Source { return Source{Side: Node, Addr: netip.MustParseAddr(addr)} }

// Twin returns the source that plays the same part in IPv6.
func (s Source) Twin() Source {
	if s.Addr.Is4() {
		s.Addr = Twin(s.Addr)
	}
	return s
}
