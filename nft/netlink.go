package nft

import (
	"encoding/binary"
	"strconv"
)

// nlBuffer writes netlink attributes into one growing buffer. Nested
// attributes and messages are opened, filled and closed in place, so nothing
// is built twice and nothing is allocated per attribute.
type nlBuffer struct{ buf []byte }

// attr writes an attribute: length, type, value, padding to four bytes.
func (b *nlBuffer) attr(typ uint16, value []byte) {
	b.header(typ, len(value))
	b.buf = append(b.buf, value...)
	b.pad()
}

// attrString writes a string with the closing zero that the kernel expects.
func (b *nlBuffer) attrString(typ uint16, s string) {
	b.header(typ, len(s)+1)
	b.buf = append(b.buf, s...)
	b.buf = append(b.buf, 0)
	b.pad()
}

// attrUint32 writes a number in network byte order, as nf_tables wants it.
func (b *nlBuffer) attrUint32(typ uint16, v uint32) {
	b.header(typ, 4)
	b.buf = binary.BigEndian.AppendUint32(b.buf, v)
}

// open starts a nested attribute and returns the place to hand to close.
func (b *nlBuffer) open(typ uint16) int {
	at := len(b.buf)
	b.header(typ|nlaNested, 0)
	return at
}

// close ends the nested attribute that open started.
func (b *nlBuffer) close(at int) {
	binary.NativeEndian.PutUint16(b.buf[at:], uint16(len(b.buf)-at))
}

func (b *nlBuffer) header(typ uint16, valueLen int) {
	b.buf = binary.NativeEndian.AppendUint16(b.buf, uint16(4+valueLen))
	b.buf = binary.NativeEndian.AppendUint16(b.buf, typ)
}

func (b *nlBuffer) pad() {
	for len(b.buf)%4 != 0 {
		b.buf = append(b.buf, 0)
	}
}

// nlaNested marks an attribute that holds attributes (NLA_F_NESTED).
const nlaNested = 1 << 15

// nlaTypeMask takes the flags off an attribute's type.
const nlaTypeMask = 1<<14 - 1

// eachAttr calls f for every attribute in b, its type without flags. It stops
// early when f returns false, or where b is not well formed.
func eachAttr(b []byte, f func(typ uint16, value []byte) bool) {
	eachRawAttr(b, func(typ uint16, value []byte) bool { return f(typ&nlaTypeMask, value) })
}

// findAttr returns the value of the first attribute of that type, or nil.
func findAttr(b []byte, want uint16) (value []byte) {
	eachAttr(b, func(typ uint16, v []byte) bool {
		if typ == want {
			value = v
			return false
		}
		return true
	})
	return value
}

func nativeUint32(v uint32) []byte { return binary.NativeEndian.AppendUint32(nil, v) }

func utoa(v uint32) string { return strconv.FormatUint(uint64(v), 10) }
