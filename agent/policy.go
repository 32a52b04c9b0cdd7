package agent

import (
	"github.com/nearside/nearside/selector"
)

// A NodeCounter is a Selector that says whether its answers depend on
// Request.Nodes. The agent asks a selector again for all its services when the
// number of nodes changes, unless CountsNodes returns false. Of the built-in
// selectors only LocalIfPlenty counts nodes.
type NodeCounter interface {
	CountsNodes() bool
}

// policy is a selector under the name that annotations use.
type policy struct {
	name string
	// selector keeps the rules of the Service API whatever the policy is.
	selector selector.Selector
	// countsNodes is true if the number of nodes can change the answer.
	countsNodes bool
}

// policies are all policies an annotation may name, and the one for services
// that name none.
type policies struct {
	byName   map[string]*policy
	fallback *policy
}

func newPolicies(selectors map[string]selector.Selector, fallback string) *policies {
	p := &policies{byName: make(map[string]*policy, len(selectors))}
	for name, s := range selectors {
		p.byName[name] = &policy{name: name, selector: selector.Enforce(s), countsNodes: countsNodes(s)}
	}
	p.fallback = p.byName[fallback]
	return p
}

// choose returns the policy for a service with the given annotation, empty when
// absent. known is false for a value that names no policy; it is treated as
// absent. The Service API's own fields need no choice here: every policy obeys
// them by itself.
func (p *policies) choose(annotation string) (chosen *policy, known bool) {
	if annotation == "" {
		return p.fallback, true
	}
	if chosen, ok := p.byName[annotation]; ok {
		return chosen, true
	}
	return p.fallback, false
}

func countsNodes(s selector.Selector) bool {
	switch s := s.(type) {
	case NodeCounter:
		return s.CountsNodes()
	case selector.Cluster, selector.Local, selector.PreferLocal:
		return false
	}
	return true
}

func builtinSelectors() map[string]selector.Selector {
	selectors := make(map[string]selector.Selector)
	for _, name := range selector.Names() {
		if s, ok := selector.Builtin(name); ok {
			selectors[name] = s
		}
	}
	return selectors
}
