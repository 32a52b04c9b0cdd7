package informer

import (
	"slices"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// Problem is a value in an object that cannot be used. It costs only itself:
// what it belongs to works without it.
type Problem struct {
	// Kind is "Service", "EndpointSlice", "Node" or "ServiceCIDR".
	Kind string
	// Object is the object's "namespace/name", or its name where it has no
	// namespace; quoted if it holds anything unusual.
	Object string
	// Field is the path of the field, such as "spec.clusterIPs"; empty when
	// the problem is the object as a whole.
	Field string
	// Value is the value, quoted and shortened so that it is safe to print;
	// empty when there is none.
	Value string
	// Reason says what is wrong and what follows from that.
	Reason string
}

// String returns the problem as one line.
func (p Problem) String() string {
	text := p.Kind + " " + p.Object
	for _, part := range []string{p.Field, p.Value} {
		if part != "" {
			text += " " + part
		}
	}
	return text + ": " + p.Reason
}

const (
	// maxQuoted bounds how much of a value is repeated in a problem.
	maxQuoted = 64
	// maxProblems bounds how many values of one object are named, so that a
	// slice of a thousand bad addresses does not fill a log.
	maxProblems = 8
)

// quote makes text from an object safe to print: escaped and short.
func quote(text string) string {
	if len(text) <= maxQuoted {
		return strconv.Quote(text)
	}
	return strconv.Quote(shorten(text, maxQuoted)) + "..."
}

// shorten cuts text after at most limit bytes, between characters.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// plain reports whether text is printable as it stands, without spaces.
func plain(text string) bool {
	for _, r := range text {
		if '#' <= r && r <= '~' { // nearly all text there is
			continue
		}
		if r == utf8.RuneError || !unicode.IsPrint(r) || unicode.IsSpace(r) || r == '"' {
			return false
		}
	}
	return true
}

// objectText names an object in a problem.
func objectText(namespace, name string) string {
	text := name
	if namespace != "" {
		text = namespace + "/" + name
	}
	if plain(text) && len(text) <= maxQuoted*5 {
		return text
	}
	return quote(text)
}

// findings collects the problems of one object while it is converted.
type findings struct {
	kind, object string
	list         []Problem
	more         bool
}

// add notes a bad value. The same finding in the same object is kept once.
func (f *findings) add(field, value, reason string) {
	p := Problem{Kind: f.kind, Object: f.object, Field: field, Value: quote(value), Reason: reason}
	if f.more || slices.Contains(f.list, p) {
		return
	}
	if len(f.list) == maxProblems {
		f.more = true
		p = Problem{Kind: f.kind, Object: f.object, Reason: "has more values that cannot be used; they are left out too"}
	}
	f.list = append(f.list, p)
}

// problemBook knows which problems exist now, by the object they are in.
type problemBook struct {
	byOwner map[key][]Problem
	count   int
}

// set replaces the problems of one object and returns those that are new.
func (b *problemBook) set(owner key, list []Problem) (fresh []Problem) {
	old := b.byOwner[owner]
	if len(old) == 0 && len(list) == 0 {
		return nil
	}
	for _, p := range list {
		if !slices.Contains(old, p) {
			fresh = append(fresh, p)
		}
	}
	b.count += len(list) - len(old)
	if len(list) == 0 {
		delete(b.byOwner, owner)
		return nil
	}
	if b.byOwner == nil {
		b.byOwner = make(map[key][]Problem)
	}
	b.byOwner[owner] = list
	return fresh
}

// all returns the problems in a stable order.
func (b *problemBook) all() []Problem {
	owners := make([]key, 0, len(b.byOwner))
	for owner := range b.byOwner {
		owners = append(owners, owner)
	}
	slices.SortFunc(owners, key.compare)
	out := make([]Problem, 0, b.count)
	for _, owner := range owners {
		out = append(out, b.byOwner[owner]...)
	}
	return out
}
