package selector

import "fmt"

// MaxWeight is the largest weight of a backend, and the most that the weights of
// one selection may add up to: weights become slots of a kernel table, and a
// selector must not be able to fill the node's memory with them. A selection of
// more backends than that may still give each of them weight 1.
const MaxWeight = 1<<16 - 1

// Enforce returns a Selector that asks s and holds its answer to the rules that
// no selector may break:
//
//   - every backend is an endpoint of the request, and once;
//   - every backend is usable, and it is terminating only where no endpoint that
//     the traffic policy allows is ready;
//   - under traffic policy Local every backend is on the request's node;
//   - weights are at least 1, and neither one nor their sum exceeds MaxWeight;
//   - there is a backend wherever the traffic policy leaves one to choose.
//
// An answer that breaks a rule is replaced as a whole by that of [Local] or
// [Cluster], whichever the traffic policy asks for, with Fallback true and a
// reason of code [SelectorViolation] that names the first thing that was wrong.
//
// An answer that keeps the rules is passed on, with what the rules already imply
// put right: backends in the order of their addresses, ScopeNode under traffic
// policy Local, the verdict of an empty answer, and [Unstated] for a missing
// reason. So a selector need not bother with these.
//
// The check costs one pass over endpoints and backends and no allocation.
// Enforce catches no panic, and it cannot protect the request's endpoints from
// being written to, which the contract of Selector forbids. A nil s stands for
// Cluster.
func Enforce(s Selector) Selector {
	if s == nil {
		s = Cluster{}
	}
	if done, ok := s.(enforced); ok {
		return done
	}
	return enforced{selector: s}
}

type enforced struct{ selector Selector }

// Select implements [Selector].
func (e enforced) Select(req *Request) Selection {
	policy, c := req.Policy(), candidatesOf(req)
	sel := e.selector.Select(req)
	sel.Backends = backendsInOrder(sel.Backends)
	rule := ruleFor(&c, policy)
	if wrong := rule.violation(sel.Backends); wrong != "" {
		instead := c.selectUnder(policy)
		instead.Fallback = true
		instead.Reason = Reason{
			Code: SelectorViolation,
			Text: fmt.Sprintf("the selector %s, so policy %s applies", wrong, policy),
		}
		return instead
	}
	if policy == PolicyLocal {
		sel.Scope = ScopeNode
	}
	if len(sel.Backends) == 0 {
		sel.Empty = c.selectUnder(policy).Empty
	}
	if sel.Reason.Code == "" {
		sel.Reason = because(Unstated)
	}
	return sel
}

// selectUnder is the answer that a traffic policy gives by itself.
func (c *candidates) selectUnder(policy TrafficPolicy) Selection {
	if policy == PolicyLocal {
		return c.selectLocal()
	}
	return c.selectCluster()
}

// rule is what a traffic policy allows for some candidates.
type rule struct {
	*candidates
	localOnly   bool // endpoints on other nodes are out
	drainingToo bool // endpoints on their way out are in, because none is ready
	choice      bool // there is something to choose
}

func ruleFor(c *candidates, policy TrafficPolicy) rule {
	ready, draining := c.ready, c.draining
	if policy == PolicyLocal {
		ready, draining = c.localReady, c.localDraining
	}
	return rule{
		candidates:  c,
		localOnly:   policy == PolicyLocal,
		drainingToo: ready == 0,
		choice:      ready+draining > 0,
	}
}

// violation says what is wrong with backends, which are in address order, as a
// phrase that follows "the selector"; it returns "" when nothing is.
func (r *rule) violation(backends []Backend) string {
	if len(backends) == 0 && r.choice {
		return "chose nothing although there are usable endpoints"
	}
	slots, next := 0, 0
	for i, b := range backends {
		if i > 0 && backends[i-1].Addr == b.Addr {
			return fmt.Sprintf("chose %v twice", b.Addr)
		}
		for next < len(r.list) && r.list[next].Addr.Compare(b.Addr) < 0 {
			next++
		}
		if next == len(r.list) || r.list[next].Addr != b.Addr {
			return fmt.Sprintf("chose %v, which is no endpoint of the service port", b.Addr)
		}
		if wrong := r.objection(&r.list[next]); wrong != "" {
			return fmt.Sprintf("chose %v, which is %s", b.Addr, wrong)
		}
		if b.Weight < 1 || b.Weight > MaxWeight {
			return fmt.Sprintf("gave %v weight %d, which is not between 1 and %d", b.Addr, b.Weight, MaxWeight)
		}
		slots += b.Weight
	}
	if slots > max(MaxWeight, len(backends)) {
		return fmt.Sprintf("gave weights that add up to %d, which is more than %d", slots, MaxWeight)
	}
	return ""
}

// objection says why an endpoint may not be a backend, or "".
func (r *rule) objection(e *Endpoint) string {
	switch {
	case !e.Usable() && e.Terminating:
		return "terminating and not serving"
	case !e.Usable():
		return "not ready"
	case r.localOnly && !e.LocalTo(r.node):
		return "not on this node although the traffic policy is Local"
	case !e.Ready && !r.drainingToo:
		return "terminating although ready endpoints exist"
	}
	return ""
}
