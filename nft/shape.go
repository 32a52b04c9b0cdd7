package nft

import "strings"

// shape is the way of a frontend's connections through the maps of verdicts.
type shape struct {
	exists      bool
	kind        Kind
	pick        program
	split       bool // clients outside have slots of their own
	pickOutside program
	ranged      bool
	sources     string
	after       program // once translated
}

// programs returns what the frontend has in each map of verdicts.
func (s shape) programs(node bool) (p [setCount]program) {
	if !s.exists {
		return p
	}
	entry := frontendsSet
	if s.ranged {
		p[entry] = program{kind: programRanged, node: node, sources: s.sources}
		entry = allowedSet
	}
	p[entry] = s.pick
	if s.split && (s.pick.ownChain() || s.pick.kind != s.pickOutside.kind) {
		p[entry] = program{kind: programBySource, node: node}
		p[insideSet], p[outsideSet] = s.pick, s.pickOutside
	}
	p[translatedSet] = s.after
	return p
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

// memories returns the memories that the frontend looks into or writes to.
func (s shape) memories() (list []string) {
	for _, p := range []program{s.pick, s.pickOutside} {
		if p.kind == programSticky {
			list = append(list, p.memory)
		}
	}
	if s.after.kind == programLearn {
		list = append(list, strings.Split(s.after.memory, ",")...)
	}
	return list
}
