package conntrack

import "encoding/binary"

// Messages of ctnetlink (include/uapi/linux/netfilter/nfnetlink_conntrack.h).
const (
	msgGet      = 1 // IPCTNL_MSG_CT_GET
	msgDelete   = 2 // IPCTNL_MSG_CT_DELETE
	msgGetStats = 5 // IPCTNL_MSG_CT_GET_STATS
)

// Attributes of a flow.
const (
	attrOriginal = 1  // CTA_TUPLE_ORIG: as the client sent it
	attrReply    = 2  // CTA_TUPLE_REPLY: as answers come in
	attrID       = 12 // CTA_ID: tells a flow from a later one between the same ports
	attrZone     = 18 // CTA_ZONE
	attrFilter   = 25 // CTA_FILTER
)

// Attributes within a tuple.
const (
	tupleIP    = 1 // CTA_TUPLE_IP
	tupleProto = 2 // CTA_TUPLE_PROTO

	ipSource4      = 1 // CTA_IP_V4_SRC
	ipDestination4 = 2 // CTA_IP_V4_DST
	ipSource6      = 3 // CTA_IP_V6_SRC
	ipDestination6 = 4 // CTA_IP_V6_DST

	protoNumber      = 1 // CTA_PROTO_NUM
	protoSource      = 2 // CTA_PROTO_SRC_PORT
	protoDestination = 3 // CTA_PROTO_DST_PORT
)

// filterOriginal is CTA_FILTER_ORIG_FLAGS: which fields of attrOriginal a flow
// must share. The bits are those of net/netfilter/nf_internals.h.
const (
	filterOriginal = 1

	filterByDestination     = 1 << 1
	filterByProtocol        = 1 << 3
	filterByDestinationPort = 1 << 5
)

// Attributes of the statistics of a namespace.
const (
	statsEntries    = 1 // CTA_STATS_GLOBAL_ENTRIES
	statsMaxEntries = 2 // CTA_STATS_GLOBAL_MAX_ENTRIES, Linux 4.18
)

const (
	attrHeaderLen = 4
	nested        = 1 << 15   // NLA_F_NESTED
	typeMask      = 1<<14 - 1 // takes the flags off a type
)

// eachAttr calls f for every attribute in b, its type without flags. What does
// not look like an attribute ends the walk.
func eachAttr(b []byte, f func(typ uint16, value []byte)) {
	for len(b) >= attrHeaderLen {
		n := int(binary.NativeEndian.Uint16(b))
		if n < attrHeaderLen || n > len(b) {
			return
		}
		f(binary.NativeEndian.Uint16(b[2:])&typeMask, b[attrHeaderLen:n])
		b = b[min((n+3)&^3, len(b)):]
	}
}

// appendAttr writes an attribute: length, type, value, padding to four bytes.
func appendAttr(b []byte, typ uint16, value []byte) []byte {
	b = binary.NativeEndian.AppendUint16(b, uint16(attrHeaderLen+len(value)))
	b = binary.NativeEndian.AppendUint16(b, typ)
	b = append(b, value...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}
