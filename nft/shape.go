package nft

import "strings"

// shape is the way of a frontend's connections through the maps of verdicts.
type shape struct {
	kind        Kind
	pick        program
	split       bool // clients outside have slots of their own
	pickOutside program
	ranged      bool
	sources     string
	after       program // once translated
}

// visit calls f with what the frontend has in each map of verdicts that it is
// in. No shape is in none.
func (s *shape) visit(node bool, f func(set int, p program)) {
	if s == nil {
		return
	}
	entry := frontendsSet
	if s.ranged {
		f(entry, program{kind: programRanged, node: node, sources: s.sources})
		entry = allowedSet
	}
	if s.split && (s.pick.ownChain() || s.pick.kind != s.pickOutside.kind) {
		f(entry, program{kind: programBySource, node: node})
		f(insideSet, s.pick)
		f(outsideSet, s.pickOutside)
	} else {
		f(entry, s.pick)
	}
	if s.after.kind != programNone {
		f(translatedSet, s.after)
	}
}

func equalShapes(a, b *shape) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// masquerades returns the program that gives translated connections a source
// address where they need one; programNone where that is decided for all
// ClusterIPs alike.
func masquerades(kind Kind, split bool) program {
	switch {
	case kind == ClusterIP:
		return program{}
	case split:
		return program{kind: programMasqueradeNode}
	}
	return program{kind: programMasquerade}
}

// isSticky reports whether the frontend remembers clients.
func (s *shape) isSticky() bool { return s.after.kind == programLearn }

// memories returns the memories that the frontend looks into or writes to.
func (s *shape) memories() (list []string) {
	for _, p := range []program{s.pick, s.pickOutside} {
		if p.kind == programSticky {
			list = append(list, p.memory)
		}
	}
	if s.isSticky() {
		list = append(list, strings.Split(s.after.memory, ",")...)
	}
	return list
}
