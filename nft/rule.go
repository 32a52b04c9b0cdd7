package nft

import (
	"net/netip"
	"strings"

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
// registers from reg1 on and returns the bytes used.
func loadDialled(f Family) (exprs []expression, used int) {
	n := f.addrLen()
	return []expression{
		loadDestination(f, reg1),
		loadProtocol(regAfter(n)),
		loadDestinationPort(regAfter(n + 4)),
	}, n + 8
}

func dialledText(f Family) string { return f.String() + " daddr . meta l4proto . th dport" }

// vmapDialled looks up what was dialled and goes where the map says.
func vmapDialled(f Family, set string) statement {
	exprs, _ := loadDialled(f)
	return statement{
		text:  dialledText(f) + " vmap @" + set,
		exprs: append(exprs, lookupInto(unix.NFT_REG_VERDICT, set)),
	}
}

// dnatToRandomSlot sends the connection to the endpoint in one of the slots
// from offset to offset+slots-1 of what was dialled.
func dnatToRandomSlot(f Family, set string, slots, offset uint32) statement {
	exprs, used := loadDialled(f)
	pick := "numgen random mod " + utoa(slots)
	if offset != 0 {
		pick += " offset " + utoa(offset)
	}
	return statement{
		text:  "dnat " + f.String() + " to " + dialledText(f) + " . " + pick + " map @" + set,
		exprs: append(exprs, loadRandom(regAfter(used), slots, offset), lookupInto(reg1, set), dnatTo(f)),
	}
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

// matchSourceNotIn matches packets from outside a prefix. Of a prefix of whole
// bytes only those are compared, as nft does; any other needs a mask.
func matchSourceNotIn(f Family, p netip.Prefix) statement {
	p = p.Masked()
	text := p.Addr().String()
	if !p.IsSingleIP() {
		text = p.String()
	}
	addr := ipBytes(p.Addr())
	var exprs []expression
	if whole := p.Bits() / 8; p.Bits()%8 == 0 {
		exprs = []expression{loadSourceStart(f, reg1, whole), compare(unix.NFT_CMP_NEQ, addr[:whole])}
	} else {
		mask := make([]byte, f.addrLen())
		for bit := range p.Bits() {
			mask[bit/8] |= 0x80 >> (bit % 8)
		}
		exprs = []expression{loadSource(f, reg1), maskReg1(mask), compare(unix.NFT_CMP_NEQ, addr[:f.addrLen()])}
	}
	return statement{text: f.String() + " saddr != " + text, exprs: exprs}
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
	return statement{text: "goto " + name, exprs: []expression{gotoVerdict(name)}}
}
