package nft

import (
	"net/netip"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Rule is one rule of a chain: the same thing in nft's words and in the
// kernel's expressions.
type Rule struct {
	// text is the rule as nft prints it; empty when read from the kernel.
	text string
	// sent is the rule's list of expressions for the kernel; empty when read
	// from there.
	sent []byte
	// kept is the list as the kernel gives it back.
	kept []byte
}

// statement is a part of a rule in words and in expressions. The expressions
// are those that nft itself makes of the words; a test holds them to that.
type statement struct {
	text  string
	exprs []expression
}

// makeRule joins statements.
func makeRule(statements ...statement) Rule {
	words := make([]string, 0, len(statements))
	var r Rule
	for _, s := range statements {
		words = append(words, s.text)
		for _, e := range s.exprs {
			r.sent = append(r.sent, e.sent...)
			r.kept = append(r.kept, e.kept...)
		}
	}
	r.text = strings.Join(words, " ")
	return r
}

// loadDialled puts (destination, protocol, destination port) into the
// registers from reg1 on and returns the bytes used. For a node port the
// destination is masked to the unspecified address, which is what the maps have
// for it.
func loadDialled(f Family, node bool) (exprs []expression, used int) {
	n := f.addrLen()
	exprs = []expression{loadDestination(f, reg1)}
	if node {
		exprs = append(exprs, maskReg1(make([]byte, n)))
	}
	return append(exprs, loadProtocol(regAfter(n)), loadDestinationPort(regAfter(n+4))), n + 8
}

func dialledText(f Family, node bool) string {
	return addrText(f, "daddr", node) + " . meta l4proto . th dport"
}

func addrText(f Family, field string, node bool) string {
	switch {
	case !node:
		return f.String() + " " + field
	case f == IPv6:
		return "ip6 " + field + " & ::"
	default:
		return "ip " + field + " & 0.0.0.0"
	}
}

// vmapDialled looks up what was dialled and goes where the map says.
func vmapDialled(f Family, node bool, set string) statement {
	exprs, _ := loadDialled(f, node)
	return statement{
		text:  dialledText(f, node) + " vmap @" + set,
		exprs: append(exprs, lookupInto(unix.NFT_REG_VERDICT, set)),
	}
}

// dnatToRandomSlot sends the connection to the endpoint in one of the slots
// from offset to offset+slots-1 of what was dialled.
func dnatToRandomSlot(f Family, node bool, set string, slots, offset uint32) statement {
	exprs, used := loadDialled(f, node)
	pick := "numgen random mod " + utoa(slots)
	if offset != 0 {
		pick += " offset " + utoa(offset)
	}
	return statement{
		text:  "dnat " + f.String() + " to " + dialledText(f, node) + " . " + pick + " map @" + set,
		exprs: append(exprs, loadRandom(regAfter(used), slots, offset), lookupInto(reg1, set), dnatTo(f)),
	}
}

// dnatToRemembered sends a connection to the endpoint that the client had
// before; where none is remembered, the rule does not match.
func dnatToRemembered(f Family, p Protocol, set string) statement {
	return statement{
		text: "meta l4proto " + p.String() + " dnat " + f.String() + " to " + f.String() + " saddr map @" + set,
		exprs: []expression{
			loadProtocol(reg1), compare(unix.NFT_CMP_EQ, []byte{byte(p)}),
			loadSource(f, reg1), lookupInto(reg1, set), dnatTo(f),
		},
	}
}

// matchTarget matches packets to an endpoint in a set.
func matchTarget(f Family, set string) statement {
	return statement{text: f.String() + " daddr . th dport @" + set, exprs: []expression{
		loadDestination(f, reg1), loadDestinationPort(regAfter(f.addrLen())), lookup(set),
	}}
}

// learn remembers where the client was sent.
func learn(f Family, set string, timeout time.Duration) statement {
	const dataAt = 16 // bytes behind reg1: the key has them to itself
	return statement{
		text: "update @" + set + " { " + f.String() + " saddr timeout " + durationText(timeout) +
			" : " + f.String() + " daddr . th dport }",
		exprs: []expression{
			loadSource(f, reg1),
			loadDestination(f, regAfter(dataAt)),
			loadDestinationPort(regAfter(dataAt + f.addrLen())),
			updateIn(set, regAfter(dataAt), timeout),
		},
	}
}

// durationText writes whole seconds as nft does: 1d2h3m4s.
func durationText(d time.Duration) (text string) {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if n := d / unit.length; n > 0 {
			text += utoa(uint32(n)) + unit.name
			d -= n * unit.length
		}
	}
	return text
}

// vmapOriginal is vmapDialled for a connection that was translated already: it
// looks at what the client dialled. nft can only write this down where the
// protocol is known.
func vmapOriginal(f Family, node bool, p Protocol, set string) statement {
	n := f.addrLen()
	exprs := []expression{loadProtocol(reg1), compare(unix.NFT_CMP_EQ, []byte{byte(p)})}
	words := "meta l4proto " + p.String()
	if node {
		here := matchDialledAddr(f, setNodeIPs)
		exprs, words = append(exprs, here.exprs...), words+" "+here.text
	}
	exprs = append(exprs, loadDialledAddr(f, reg1))
	if node {
		exprs = append(exprs, maskReg1(make([]byte, n)))
	}
	exprs = append(exprs, loadProtocol(regAfter(n)), loadDialledPort(regAfter(n+4)), lookupInto(unix.NFT_REG_VERDICT, set))
	return statement{
		text:  words + " ct original " + addrText(f, "daddr", node) + " . meta l4proto . ct original proto-dst vmap @" + set,
		exprs: exprs,
	}
}

// matchDestinationIn matches packets to an address in a set.
func matchDestinationIn(f Family, set string) statement {
	return statement{text: f.String() + " daddr @" + set, exprs: []expression{loadDestination(f, reg1), lookup(set)}}
}

// rejectTCP answers TCP with a reset. A plain reject would leave an IPv6
// client waiting for a second, and an IPv4 one once ICMP is rate-limited. The
// match on TCP goes without saying in nft's text.
func rejectTCP() statement {
	return statement{text: "reject with tcp reset", exprs: []expression{
		loadProtocol(reg1),
		compare(unix.NFT_CMP_EQ, []byte{unix.IPPROTO_TCP}),
		rejectWith(unix.NFT_REJECT_TCP_RST, 0),
	}}
}

// rejectICMP answers with ICMP port unreachable.
func rejectICMP(f Family) statement {
	code := byte(3) // ICMP_PORT_UNREACH
	if f == IPv6 {
		code = 4 // ICMPV6_PORT_UNREACH
	}
	return statement{text: "reject", exprs: []expression{rejectWith(unix.NFT_REJECT_ICMP_UNREACH, code)}}
}

// matchTranslated matches connections whose destination was translated.
func matchTranslated() statement {
	const dstNAT = 1 << 5 // IPS_DST_NAT of nf_conntrack_common.h
	return statement{text: "ct status dnat", exprs: []expression{
		loadConntrackStatus(reg1),
		maskReg1(nativeUint32(dstNAT)),
		compare(unix.NFT_CMP_NEQ, nativeUint32(0)),
	}}
}

// matchDialledAddr matches connections whose original destination is in a set.
func matchDialledAddr(f Family, set string) statement {
	return statement{text: "ct original " + f.String() + " daddr @" + set, exprs: []expression{
		loadDialledAddr(f, reg1),
		lookup(set),
	}}
}

// matchSource matches packets from an address in a prefix, or not in it.
func matchSource(f Family, p netip.Prefix, in bool) statement {
	return matchPrefix(f, "saddr", sourceOffset(f), p, in)
}

// matchDestination matches packets to an address in a prefix.
func matchDestination(f Family, p netip.Prefix) statement {
	return matchPrefix(f, "daddr", destinationOffset(f), p, true)
}

// matchDestinationNot matches packets to any other address.
func matchDestinationNot(f Family, a netip.Addr) statement {
	return matchPrefix(f, "daddr", destinationOffset(f), netip.PrefixFrom(a, a.BitLen()), false)
}

// matchPrefix compares an address with a prefix. Of a prefix of whole bytes
// only those are compared, as nft does; any other needs a mask.
func matchPrefix(f Family, field string, offset uint32, p netip.Prefix, in bool) statement {
	p = p.Masked()
	words, op := f.String()+" "+field+" ", uint32(unix.NFT_CMP_EQ)
	if !in {
		words, op = words+"!= ", unix.NFT_CMP_NEQ
	}
	if p.IsSingleIP() {
		words += p.Addr().String()
	} else {
		words += p.String()
	}
	addr, whole := ipBytes(p.Addr()), p.Bits()/8
	if p.Bits()%8 == 0 {
		return statement{text: words, exprs: []expression{loadNetwork(reg1, offset, whole), compare(op, addr[:whole])}}
	}
	mask := make([]byte, f.addrLen())
	for bit := range p.Bits() {
		mask[bit/8] |= 0x80 >> (bit % 8)
	}
	return statement{text: words, exprs: []expression{
		loadNetwork(reg1, offset, f.addrLen()), maskReg1(mask), compare(op, addr[:f.addrLen()]),
	}}
}

// matchFromHere matches packets whose source is an address of this node.
func matchFromHere() statement {
	return statement{text: "fib saddr type local", exprs: []expression{
		loadSourceType(reg1), compare(unix.NFT_CMP_EQ, nativeUint32(unix.RTN_LOCAL)),
	}}
}

// matchInterface matches packets that came in through an interface, or not.
// Packets of the node itself came in through none.
func matchInterface(name string, in bool) statement {
	value, text := make([]byte, unix.IFNAMSIZ), name
	copy(value, name)
	return interfaceStatement(value, text, in)
}

// matchInterfacePrefix is matchInterface for all names that begin alike.
func matchInterfacePrefix(prefix string, in bool) statement {
	return interfaceStatement([]byte(prefix), prefix+"*", in)
}

func interfaceStatement(value []byte, name string, in bool) statement {
	op, words := uint32(unix.NFT_CMP_EQ), "iifname "
	if !in {
		op, words = unix.NFT_CMP_NEQ, "iifname != "
	}
	return statement{text: words + `"` + name + `"`, exprs: []expression{loadInterfaceName(reg1), compare(op, value)}}
}

// drop drops the packet.
func drop() statement {
	return statement{text: "drop", exprs: []expression{verdictOf(0, "")}} // NF_DROP
}

// matchHairpin matches packets whose source and destination are a pair in a set.
func matchHairpin(f Family, set string) statement {
	return statement{text: f.String() + " saddr . " + f.String() + " daddr @" + set, exprs: []expression{
		loadSource(f, reg1),
		loadDestination(f, regAfter(f.addrLen())),
		lookup(set),
	}}
}

// masquerade gives the packet a source address of this node.
func masquerade() statement {
	return statement{text: "masquerade fully-random", exprs: []expression{masqueradeRandomly()}}
}

// gotoChain leaves for another chain.
func gotoChain(name string) statement {
	return statement{text: "goto " + name, exprs: []expression{verdictOf(unix.NFT_GOTO, name)}}
}
