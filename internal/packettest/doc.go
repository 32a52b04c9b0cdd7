// Package packettest sends packets through a node's kernel and reports where
// they come out. It is how tests learn what a ruleset does, as opposed to what
// it says.
//
// # The lab
//
// A Lab is three network namespaces. No pod, no endpoint and no cluster has to
// exist: they are addresses in packets.
//
//	      Pods ───── veth ───── Node ───── veth ───── World
//	this node's pods      the rules under test      the default route: other
//	                                                nodes, their pods, clients
//
// The node forwards both families and routes its own pods' prefixes to Pods and
// everything else to World, over permanent neighbours. Packets are injected as
// frames on the far end of a link, with any source address, or inside the node
// by a raw socket. They are observed as frames on the far ends, and as what the
// node's own sockets receive.
//
// # A probe
//
// Probe sends the first packet of a connection: a TCP SYN, a UDP datagram, an
// SCTP INIT or an ICMP echo request. It carries a token that survives any
// rewriting of addresses and ports, so what comes out is known to be what went
// in. The Outcome is one of four: delivered to another destination, untouched,
// refused, or dropped. A delivered connection can be carried on with Reply and
// Again.
//
// # How silence is told without waiting
//
// Behind a probe that nothing answered goes a sentinel, a packet that no rule
// concerns, from the same place and on the same CPU. The kernel handles packets
// of one CPU in order, through its backlog queue too (net/core/dev.c), and both
// cross the same number of links. When the sentinel has come out, whatever
// the probe would cause has happened. So a dropped packet costs no more than a
// delivered one, and no timing is involved that a busy machine could upset.
//
// # Both families
//
// Tests are written in IPv4. Twin maps an address to the IPv6 address of the
// same part in the play, and Probe.Twin does so for a whole probe.
package packettest
