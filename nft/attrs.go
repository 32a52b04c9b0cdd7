package nft

import (
	"bytes"
	"encoding/binary"
)

// equalAttrs reports whether a list of attributes that was read from the
// kernel means the same as one that is sent. The kernel gives back what it was
// sent in an order of its own, without the flag that marks nested attributes,
// and adds attributes that hold their default, which is zero in all
// expressions; those are passed over.
func equalAttrs(have, want []byte) bool {
	if bytes.Equal(have, want) {
		return true
	}
	h, ok := parseAttrs(have)
	w, ok2 := parseAttrs(want)
	if !ok || !ok2 {
		return false
	}
	if w.isList() {
		return equalLists(h, w)
	}
	for _, a := range w {
		b := h.find(a.typ)
		if b == nil || !equalAttr(*b, a) {
			return false
		}
	}
	for _, b := range h {
		if w.find(b.typ) == nil && !b.zero() {
			return false
		}
	}
	return true
}

// equalLists compares the elements of lists, which keep their order.
func equalLists(have, want attrs) bool {
	if len(have) != len(want) {
		return false
	}
	for i := range want {
		if !equalAttr(have[i], want[i]) {
			return false
		}
	}
	return true
}

func equalAttr(have, want attr) bool {
	if have.typ != want.typ {
		return false
	}
	if want.nested {
		return equalAttrs(have.value, want.value)
	}
	return bytes.Equal(have.value, want.value)
}

// attrs is a list of attributes in the order they came.
type attrs []attr

type attr struct {
	typ    uint16
	nested bool
	value  []byte
}

func parseAttrs(b []byte) (list attrs, ok bool) {
	ok = eachRawAttr(b, func(typ uint16, value []byte) bool {
		list = append(list, attr{typ: typ & nlaTypeMask, nested: typ&nlaNested != 0, value: value})
		return true
	})
	return list, ok
}

// isList reports whether the attributes are the elements of a list.
func (l attrs) isList() bool {
	const listElem = 1 // NFTA_LIST_ELEM
	return len(l) > 0 && l[0].typ == listElem && l[0].nested
}

func (l attrs) find(typ uint16) *attr {
	for i := range l {
		if l[i].typ == typ {
			return &l[i]
		}
	}
	return nil
}

// zero reports whether the attribute holds nothing but zeros.
func (a attr) zero() bool { return len(bytes.Trim(a.value, "\x00")) == 0 }

// eachRawAttr calls f for every attribute in b and reports whether b was well
// formed. It stops early when f returns false.
func eachRawAttr(b []byte, f func(typ uint16, value []byte) bool) bool {
	for len(b) >= 4 {
		n := int(binary.NativeEndian.Uint16(b))
		if n < 4 || n > len(b) {
			return false
		}
		if !f(binary.NativeEndian.Uint16(b[2:]), b[4:n]) {
			return true
		}
		b = b[min((n+3)&^3, len(b)):]
	}
	return len(b) == 0
}
