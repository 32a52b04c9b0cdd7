package nft

import (
	"encoding/binary"
	"strings"
)

// Set is an nftables set or map: a declaration and its elements.
type Set struct {
	// Name is the set's name within its table.
	Name string
	// decl is all that cannot change without making the set anew.
	decl setDecl
	// records holds the elements.
	records records
}

// Len returns the number of elements.
func (s *Set) Len() int { return s.records.count() }

// setDecl declares a set or map.
type setDecl struct {
	key      string // the fields of a key, one letter each: see fieldTypes
	data     string // likewise for the data of a map; "" otherwise
	verdicts bool   // a map whose data are verdicts
	dynamic  bool   // the kernel fills it while packets pass; elements time out
	// typeLine is the declaration as nft prints it.
	typeLine string
	// userData is what nft keeps with the set to print typeLine again.
	userData string
}

// fieldType is the type of one field of a key or of data. The numbers are
// nft's own (include/datatype.h of nftables) and mean nothing to the kernel.
type fieldType struct {
	id     uint32
	length int // in bytes; fields are padded to four bytes in the kernel
}

const (
	fieldIPv4    = '4'
	fieldIPv6    = '6'
	fieldProto   = 'p'
	fieldService = 's'
	fieldInteger = 'i'
)

var fieldTypes = map[rune]fieldType{
	fieldIPv4:    {id: 7, length: 4},
	fieldIPv6:    {id: 8, length: 16},
	fieldProto:   {id: 12, length: 1},
	fieldService: {id: 13, length: 2},
	fieldInteger: {id: 4, length: 4},
}

// addrFields is an address of a family as a field, addrType its name.
func addrFields(f Family) string {
	if f == IPv6 {
		return string(fieldIPv6)
	}
	return string(fieldIPv4)
}

func addrType(f Family) string {
	if f == IPv6 {
		return "ipv6_addr"
	}
	return "ipv4_addr"
}

// fieldsType combines field types as nft does: six bits each.
func fieldsType(fields string) (id uint32) {
	for _, f := range fields {
		id = id<<6 | fieldTypes[f].id
	}
	return id
}

// fieldsLen is the length of the fields as the kernel lays them out.
func fieldsLen(fields string) (n int) {
	for _, f := range fields {
		n += (fieldTypes[f].length + 3) &^ 3
	}
	return n
}

// isMap reports whether elements carry data or a verdict.
func (d *setDecl) isMap() bool { return d.verdicts || d.data != "" }

// recordKeyLen and recordLen are the lengths of an element in records.
func (d *setDecl) recordKeyLen() int { return fieldsLen(d.key) }

func (d *setDecl) recordLen() int {
	if d.verdicts {
		return fieldsLen(d.key) + verdictLen
	}
	return fieldsLen(d.key) + fieldsLen(d.data)
}

// The user data of a set is a list of (type, length, value) with one byte each
// for type and length, nested where it describes expressions. nft writes it to
// remember what the kernel does not keep: byte orders and, for a key without a
// type name, the expressions of a typeof declaration. The type numbers are
// those of libnftnl's udata.h; what nft writes was read off `nft --debug=mnl`
// and is held by a test that lists our sets with nft.
const (
	udataKeyByteOrder  = 0
	udataDataByteOrder = 1
	udataKeyTypeof     = 3
	udataDataTypeof    = 4
	udataDataInterval  = 6

	udataExpr     = 0 // within a typeof: which expression
	udataExprData = 1 // and its arguments

	byteOrderMixed = 0
	byteOrderBig   = 2

	exprPayload = 7
	exprMeta    = 9
	exprConcat  = 13
	exprNumgen  = 23

	headerTransport = 11
	headerIPv4      = 12
	headerIPv6      = 13
)

// tlv writes one (type, length, value).
func tlv(typ byte, value string) string {
	return string([]byte{typ, byte(len(value))}) + value
}

// tlvUint32 writes a number in the byte order of the machine, as nft does.
func tlvUint32(typ byte, v uint32) string {
	return tlv(typ, string(binary.NativeEndian.AppendUint32(nil, v)))
}

// typeofExpr describes one expression of a typeof declaration.
func typeofExpr(kind uint32, args ...uint32) string {
	var data strings.Builder
	for i, a := range args {
		data.WriteString(tlvUint32(byte(i), a))
	}
	return tlvUint32(udataExpr, kind) + tlv(udataExprData, data.String())
}

// typeofConcat describes a concatenation of expressions.
func typeofConcat(parts ...string) string {
	var data strings.Builder
	for i, p := range parts {
		data.WriteString(tlv(byte(i), p))
	}
	return tlvUint32(udataExpr, exprConcat) + tlv(udataExprData, data.String())
}
