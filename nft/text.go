package nft

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Text returns the ruleset as `nft list table` prints it, which is also what
// `nft -f` reads. A ruleset that was read from the kernel has no words for its
// rules and prints a comment in their place.
func (r *Ruleset) Text() string {
	var b strings.Builder
	b.WriteString("table " + r.Family.String() + " " + TableName + " {\n")
	for i, s := range r.Sets {
		if i > 0 {
			b.WriteByte('\n')
		}
		s.writeText(&b)
	}
	for i, c := range r.Chains {
		if i > 0 || len(r.Sets) > 0 {
			b.WriteByte('\n')
		}
		c.writeText(&b)
	}
	b.WriteString("}\n")
	return b.String()
}

func (c *Chain) writeText(b *strings.Builder) {
	b.WriteString("\tchain " + c.Name + " {\n")
	if c.Base != nil {
		b.WriteString("\t\t" + c.Base.text() + "\n")
	}
	for _, r := range c.Rules {
		if r.text == "" {
			b.WriteString("\t\t# a rule read from the kernel\n")
			continue
		}
		b.WriteString("\t\t" + r.text + "\n")
	}
	b.WriteString("\t}\n")
}

func (b *BaseChain) text() string {
	return "type nat hook " + b.Hook.String() + " priority " + b.priorityText() + "; policy accept;"
}

func (s *Set) noun() string {
	if s.decl.isMap() {
		return "map"
	}
	return "set"
}

func (s *Set) writeText(b *strings.Builder) {
	b.WriteString("\t" + s.noun() + " " + s.Name + " {\n\t\t" + s.decl.typeLine + "\n")
	if s.decl.dynamic {
		b.WriteString("\t\tsize " + utoa(clientsSize) + "\n\t\tflags dynamic,timeout\n")
	}
	if s.Len() > 0 {
		s.writeElements(b)
	}
	b.WriteString("\t}\n")
}

func (s *Set) writeElements(b *strings.Builder) {
	const first, next, wrap = "\t\telements = { ", ", ", ",\n\t\t\t     "
	perLine := s.elementsPerLine()
	recs := s.records.sortedBy(s.compareListed)
	b.WriteString(first)
	for i := range recs.count() {
		switch {
		case i == 0:
		case i%perLine == 0:
			b.WriteString(wrap)
		default:
			b.WriteString(next)
		}
		b.WriteString(s.keyText(recs.key(i)))
		if s.decl.isMap() {
			b.WriteString(" : " + s.dataText(recs.data(i)))
		}
	}
	b.WriteString(" }\n")
}

// elementsPerLine is nft's habit: two plain IPv4 addresses to a line, one of
// anything longer.
func (s *Set) elementsPerLine() int {
	if s.decl.key == string(fieldIPv4) && !s.decl.isMap() {
		return 2
	}
	return 1
}

// compareListed gives the order in which nft lists elements: plain addresses
// by value; a concatenation as one number whose last byte counts most, which
// is what nft makes of it on a machine that stores the last byte highest.
func (s *Set) compareListed(a, b []byte) int {
	if len(s.decl.key) == 1 {
		return slices.Compare(a, b)
	}
	a, b = s.packed(a), s.packed(b)
	slices.Reverse(a)
	slices.Reverse(b)
	return slices.Compare(a, b)
}

// packed takes the padding out of a key.
func (s *Set) packed(key []byte) []byte {
	out := make([]byte, 0, len(key))
	for _, f := range s.decl.key {
		n := fieldTypes[f].length
		out = append(out, key[:n]...)
		key = key[(n+3)&^3:]
	}
	return out
}

func (s *Set) keyText(key []byte) string { return fieldsText(s.decl.key, key) }

func (s *Set) dataText(data []byte) string {
	if s.decl.verdicts {
		return verdictText(data)
	}
	return fieldsText(s.decl.data, data)
}

// fieldsText writes concatenated fields as nft does.
func fieldsText(fields string, b []byte) string {
	var words []string
	for _, f := range fields {
		n := fieldTypes[f].length
		words = append(words, fieldText(f, b[:n]))
		b = b[(n+3)&^3:]
	}
	return strings.Join(words, " . ")
}

func fieldText(f rune, b []byte) string {
	switch f {
	case fieldIPv4:
		return netip.AddrFrom4([4]byte(b)).String()
	case fieldIPv6:
		return netip.AddrFrom16([16]byte(b)).String()
	case fieldProto:
		return protocolText(Protocol(b[0]))
	case fieldService:
		return strconv.Itoa(int(binary.BigEndian.Uint16(b)))
	default:
		return utoa(binary.NativeEndian.Uint32(b))
	}
}

// protocolText names the protocols of the Service API and numbers the others,
// which occur only where someone else wrote to the table.
func protocolText(p Protocol) string {
	if s := p.String(); s != "unknown" {
		return s
	}
	return strconv.Itoa(int(p))
}
