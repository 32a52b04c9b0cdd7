package nft

import (
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"
)

// expression is one nf_tables expression, encoded as an element of a rule's
// expression list. The attributes are those that nft sends for the same text
// (net/netfilter/nft_*.c name them).
type expression struct {
	sent []byte
	// kept is what the kernel makes of it and gives back, where that is more
	// than its own order and defaults.
	kept []byte
}

// makeExpression encodes an expression's name and, with args, its attributes.
func makeExpression(name string, args func(b *nlBuffer)) expression {
	b := encodeExpression(name, args)
	return expression{sent: b, kept: b}
}

func encodeExpression(name string, args func(b *nlBuffer)) []byte {
	var b nlBuffer
	elem := b.open(unix.NFTA_LIST_ELEM)
	b.attrString(unix.NFTA_EXPR_NAME, name)
	data := b.open(unix.NFTA_EXPR_DATA)
	args(&b)
	b.close(data)
	b.close(elem)
	return b.buf
}

// Registers hold concatenated fields one behind the other: the first in
// register 1, the next in the 32-bit registers that follow its bytes.
const reg1 = unix.NFT_REG_1

// regAfter is the register that starts the given number of bytes behind reg1.
// One that could also be called by its 128-bit name is, as the kernel does.
func regAfter(bytes int) uint32 {
	const long, short = 16, 4
	if bytes%long == 0 {
		return uint32(reg1 + bytes/long)
	}
	return uint32(unix.NFT_REG32_00 + bytes/short)
}

// loadPayload loads bytes of a header into a register.
func loadPayload(reg, base, offset, length uint32) expression {
	return makeExpression("payload", func(b *nlBuffer) {
		b.attrUint32(unix.NFTA_PAYLOAD_DREG, reg)
		b.attrUint32(unix.NFTA_PAYLOAD_BASE, base)
		b.attrUint32(unix.NFTA_PAYLOAD_OFFSET, offset)
		b.attrUint32(unix.NFTA_PAYLOAD_LEN, length)
	})
}

// loadSource and loadDestination load the packet's addresses.
func loadSource(f Family, reg uint32) expression {
	return loadNetwork(reg, sourceOffset(f), f.addrLen())
}

func loadDestination(f Family, reg uint32) expression {
	return loadNetwork(reg, destinationOffset(f), f.addrLen())
}

// loadNetwork loads bytes of the IP header.
func loadNetwork(reg, offset uint32, length int) expression {
	return loadPayload(reg, unix.NFT_PAYLOAD_NETWORK_HEADER, offset, uint32(length))
}

// sourceOffset and destinationOffset are the places of the addresses in the IP
// header.
func sourceOffset(f Family) uint32 {
	if f == IPv6 {
		return 8
	}
	return 12
}

func destinationOffset(f Family) uint32 { return sourceOffset(f) + uint32(f.addrLen()) }

// loadDestinationPort loads the destination port, which TCP, UDP and SCTP keep
// in the same place.
func loadDestinationPort(reg uint32) expression {
	return loadPayload(reg, unix.NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2)
}

// loadProtocol loads the transport protocol's number.
func loadProtocol(reg uint32) expression {
	return makeExpression("meta", func(b *nlBuffer) {
		b.attrUint32(unix.NFTA_META_DREG, reg)
		b.attrUint32(unix.NFTA_META_KEY, unix.NFT_META_L4PROTO)
	})
}

// loadConntrackStatus loads the status bits of the packet's connection.
func loadConntrackStatus(reg uint32) expression {
	return makeExpression("ct", func(b *nlBuffer) {
		b.attrUint32(unix.NFTA_CT_DREG, reg)
		b.attrUint32(unix.NFTA_CT_KEY, unix.NFT_CT_STATUS)
	})
}

// loadDialledAddr loads the destination that the client dialled, before any
// translation.
func loadDialledAddr(f Family, reg uint32) expression {
	key := uint32(unix.NFT_CT_DST_IP)
	if f == IPv6 {
		key = unix.NFT_CT_DST_IP6
	}
	const original = 0 // IP_CT_DIR_ORIGINAL
	return makeExpression("ct", func(b *nlBuffer) {
		b.attrUint32(unix.NFTA_CT_DREG, reg)
		b.attrUint32(unix.NFTA_CT_KEY, key)
		b.attr(unix.NFTA_CT_DIRECTION, []byte{original})
	})
}

// loadDialledPort loads the destination port that the client dialled.
func loadDialledPort(reg uint32) expression {
	const original = 0 // IP_CT_DIR_ORIGINAL
	return makeExpression("ct", func(b *nlBuffer) {
		b.attrUint32(unix.NFTA_CT_DREG, reg)
		b.attrUint32(unix.NFTA_CT_KEY, unix.NFT_CT_PROTO_DST)
		b.attr(unix.NFTA_CT_DIRECTION, []byte{original})
	})
}

// loadSourceType loads the kind of address that the source is to this node
// (RTN_LOCAL and so on).
func loadSourceType(reg uint32) expression {
	return makeExpression("fib", func(b *nlBuffer) {
		b.attrUint32(unix.NFTA_FIB_DREG, reg)
		b.attrUint32(unix.NFTA_FIB_RESULT, unix.NFT_FIB_RESULT_ADDRTYPE)
		b.attrUint32(unix.NFTA_FIB_FLAGS, unix.NFTA_FIB_F_SADDR)
	})
}

// loadInterfaceName loads the name of the interface that the packet came in
// through.
func loadInterfaceName(reg uint32) expression {
	return makeExpression("meta", func(b *nlBuffer) {
		b.attrUint32(unix.NFTA_META_DREG, reg)
		b.attrUint32(unix.NFTA_META_KEY, unix.NFT_META_IIFNAME)
	})
}

// loadRandom loads a random number from offset to offset+modulus-1.
func loadRandom(reg, modulus, offset uint32) expression {
	return makeExpression("numgen", func(b *nlBuffer) {
		b.attrUint32(unix.NFTA_NG_DREG, reg)
		b.attrUint32(unix.NFTA_NG_MODULUS, modulus)
		b.attrUint32(unix.NFTA_NG_TYPE, unix.NFT_NG_RANDOM)
		b.attrUint32(unix.NFTA_NG_OFFSET, offset)
	})
}

// lookup matches if the key in reg1 is in the set.
func lookup(set string) expression {
	return makeExpression("lookup", func(b *nlBuffer) {
		b.attrUint32(unix.NFTA_LOOKUP_SREG, reg1)
		b.attrString(unix.NFTA_LOOKUP_SET, set)
	})
}

// lookupInto loads what the map holds for the key in reg1; register 0 is the
// verdict.
func lookupInto(reg uint32, set string) expression {
	return makeExpression("lookup", func(b *nlBuffer) {
		b.attrUint32(unix.NFTA_LOOKUP_SREG, reg1)
		b.attrUint32(unix.NFTA_LOOKUP_DREG, reg)
		b.attrString(unix.NFTA_LOOKUP_SET, set)
	})
}

// updateIn puts (key in reg1, data in the registers behind) into a dynamic map,
// or refreshes the time-out of an element that is there and leaves its data.
func updateIn(set string, dataReg uint32, timeout time.Duration) expression {
	return makeExpression("dynset", func(b *nlBuffer) {
		b.attrString(unix.NFTA_DYNSET_SET_NAME, set)
		b.attrUint32(unix.NFTA_DYNSET_OP, unix.NFT_DYNSET_OP_UPDATE)
		b.attrUint32(unix.NFTA_DYNSET_SREG_KEY, reg1)
		b.attrUint32(unix.NFTA_DYNSET_SREG_DATA, dataReg)
		b.attr(unix.NFTA_DYNSET_TIMEOUT, binary.BigEndian.AppendUint64(nil, uint64(timeout.Milliseconds())))
	})
}

// compare matches if reg1 relates to the value as op says.
func compare(op uint32, value []byte) expression {
	return makeExpression("cmp", func(b *nlBuffer) {
		b.attrUint32(unix.NFTA_CMP_SREG, reg1)
		b.attrUint32(unix.NFTA_CMP_OP, op)
		attrData(b, unix.NFTA_CMP_DATA, value)
	})
}

// maskReg1 ands reg1 with a mask.
func maskReg1(mask []byte) expression {
	return makeExpression("bitwise", func(b *nlBuffer) {
		b.attrUint32(unix.NFTA_BITWISE_SREG, reg1)
		b.attrUint32(unix.NFTA_BITWISE_DREG, reg1)
		b.attrUint32(unix.NFTA_BITWISE_LEN, uint32(len(mask)))
		attrData(b, unix.NFTA_BITWISE_MASK, mask)
		attrData(b, unix.NFTA_BITWISE_XOR, make([]byte, len(mask)))
	})
}

// dnatTo translates the destination to the address in reg1 and the port behind
// it. The kernel completes the ranges and notes that both are given.
func dnatTo(f Family) expression {
	addr, port := uint32(reg1), regAfter(f.addrLen())
	sent := func(b *nlBuffer) {
		b.attrUint32(unix.NFTA_NAT_TYPE, unix.NFT_NAT_DNAT)
		b.attrUint32(unix.NFTA_NAT_FAMILY, uint32(f.proto()))
		b.attrUint32(unix.NFTA_NAT_REG_ADDR_MIN, addr)
		b.attrUint32(unix.NFTA_NAT_REG_PROTO_MIN, port)
	}
	kept := func(b *nlBuffer) {
		sent(b)
		b.attrUint32(unix.NFTA_NAT_REG_ADDR_MAX, addr)
		b.attrUint32(unix.NFTA_NAT_REG_PROTO_MAX, port)
		b.attrUint32(unix.NFTA_NAT_FLAGS, unix.NF_NAT_RANGE_MAP_IPS|unix.NF_NAT_RANGE_PROTO_SPECIFIED)
	}
	return expression{sent: encodeExpression("nat", sent), kept: encodeExpression("nat", kept)}
}

// masqueradeRandomly translates the source to an address of the outgoing
// interface and a random port.
func masqueradeRandomly() expression {
	return makeExpression("masq", func(b *nlBuffer) {
		b.attrUint32(unix.NFTA_MASQ_FLAGS, unix.NF_NAT_RANGE_PROTO_RANDOM_FULLY)
	})
}

// rejectWith refuses the packet. Of a reset the kernel keeps no ICMP code.
func rejectWith(kind uint32, code byte) expression {
	plain := func(b *nlBuffer) { b.attrUint32(unix.NFTA_REJECT_TYPE, kind) }
	coded := func(b *nlBuffer) {
		plain(b)
		b.attr(unix.NFTA_REJECT_ICMP_CODE, []byte{code})
	}
	e := makeExpression("reject", coded)
	if kind == unix.NFT_REJECT_TCP_RST {
		e.kept = encodeExpression("reject", plain)
	}
	return e
}

// verdictOf ends the chain: in another one, or with the packet's fate.
func verdictOf(code int32, chain string) expression {
	return makeExpression("immediate", func(b *nlBuffer) {
		b.attrUint32(unix.NFTA_IMMEDIATE_DREG, unix.NFT_REG_VERDICT)
		data := b.open(unix.NFTA_IMMEDIATE_DATA)
		attrVerdict(b, code, chain)
		b.close(data)
	})
}

// attrData writes a value in the wrapping that nf_tables expects of data.
func attrData(b *nlBuffer, typ uint16, value []byte) {
	at := b.open(typ)
	b.attr(unix.NFTA_DATA_VALUE, value)
	b.close(at)
}

// attrVerdict writes a verdict in the wrapping that nf_tables expects of data.
func attrVerdict(b *nlBuffer, code int32, chain string) {
	at := b.open(unix.NFTA_DATA_VERDICT)
	b.attrUint32(unix.NFTA_VERDICT_CODE, uint32(code))
	if chain != "" {
		b.attrString(unix.NFTA_VERDICT_CHAIN, chain)
	}
	b.close(at)
}
