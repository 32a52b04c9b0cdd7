package nft

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Problem is something in a Service that cannot be used. It costs only itself.
type Problem struct {
	// Service and Port name the service port at fault.
	Service, Port string
	// Object is what is left out or reduced: a frontend, a backend.
	Object string
	// Reason says why.
	Reason string
}

// String returns the problem as one line.
func (p Problem) String() string {
	name := p.Service
	if p.Port != "" {
		name += ":" + p.Port
	}
	return fmt.Sprintf("service %q: %s: %s", name, p.Object, p.Reason)
}

// check turns a service's frontends into claims and leaves out what cannot be
// used.
func (t *Table) check(s Service) (claims []claim, problems []Problem) {
	claims = make([]claim, 0, len(s.Frontends))
	var seen map[frontendKey]bool // where there are many
	if len(s.Frontends) >= manyClaims {
		seen = make(map[frontendKey]bool, len(s.Frontends))
	}
	for i := range s.Frontends {
		fe := &s.Frontends[i]
		c := claim{key: makeKey(fe.Addr, fe.Protocol), port: fe.Port}
		if reason := t.unusableFrontend(fe); reason != "" {
			problems = append(problems, Problem{Service: s.Name, Port: fe.Port, Object: fe.object(), Reason: reason})
			continue
		}
		if seen[c.key] || seen == nil && slices.ContainsFunc(claims, func(o claim) bool { return o.key == c.key }) {
			problems = append(problems, Problem{Service: s.Name, Port: fe.Port, Object: fe.object(),
				Reason: "the service has it twice; the first one counts"})
			continue
		}
		for _, p := range t.checkPools(s.Name, fe, &c) {
			p.Service, p.Port = s.Name, fe.Port
			problems = append(problems, p)
		}
		claims = append(claims, c)
		if seen != nil {
			seen[c.key] = true
		}
	}
	learnTogether(claims)
	return claims, problems
}

func (fe *Frontend) object() string { return fmt.Sprintf("frontend %v %v", fe.Addr, fe.Protocol) }

// unusableFrontend says why a frontend cannot be served, or "".
func (t *Table) unusableFrontend(fe *Frontend) string {
	nodePort := fe.Kind == External && fe.Addr.Addr().IsUnspecified()
	if reason := t.unusable(fe.Addr, nodePort); reason != "" {
		return reason
	}
	switch {
	case fe.Protocol != TCP && fe.Protocol != UDP && fe.Protocol != SCTP:
		return fmt.Sprintf("protocol %d is not TCP, UDP or SCTP", fe.Protocol)
	case fe.Kind > External:
		return fmt.Sprintf("kind %d is not known", fe.Kind)
	case fe.Kind == ClusterIP && fe.Outside != nil:
		return "only an external frontend can treat clients outside apart"
	case fe.Sticky != nil && (fe.Sticky.Timeout < time.Second || fe.Sticky.Timeout > maxTimeout):
		return fmt.Sprintf("clients cannot be remembered for %v: it has to be between 1s and %v", fe.Sticky.Timeout, maxTimeout)
	}
	return ""
}

// maxTimeout bounds the time that clients are remembered. The Service API
// allows a day.
const maxTimeout = 366 * 24 * time.Hour

// checkPools lays out the slots of a frontend and its way through the maps.
func (t *Table) checkPools(service string, fe *Frontend, c *claim) (problems []Problem) {
	node := c.key.isNodePort()
	c.pools[0], problems = t.checkBackends(fe.Backends)
	c.shape = shape{kind: fe.Kind, pick: programFor(len(c.pools[0]), fe.Empty, node, false)}
	if fe.Outside != nil {
		var more []Problem
		c.pools[1], more = t.checkBackends(fe.Outside.Backends)
		problems = append(problems, more...)
		c.shape.split = true
		c.shape.pickOutside = programFor(len(c.pools[1]), fe.Outside.Empty, node, true)
	}
	if len(fe.Sources) > 0 {
		sources, all := sourcesOf(t.cfg.Family, fe.Sources)
		c.shape.ranged, c.shape.sources = !all, sources
	}
	c.shape.after = masquerades(fe.Kind, c.shape.split)
	if fe.Sticky != nil {
		c.group = fe.Protocol.String() + " " + fe.Sticky.Group
		c.timeout = fe.Sticky.Timeout.Truncate(time.Second)
		c.shape.pick = c.shape.pick.sticky(hashName(service, c.group, stickyPools[fe.Kind]), fe.Protocol)
		c.shape.pickOutside = c.shape.pickOutside.sticky(hashName(service, c.group, stickyPools[External+1]), fe.Protocol)
	}
	return problems
}

// stickyPools tells apart the pools that a group of frontends may have: for
// ClusterIPs, for external addresses, and for clients outside.
var stickyPools = [...]string{ClusterIP: "cluster", External: "external", External + 1: "outside"}

// sticky makes a program that picks into one that looks into a memory first.
func (p program) sticky(memory string, proto Protocol) program {
	if p.kind == programPick {
		p.kind, p.memory, p.proto = programSticky, memory, proto
	}
	return p
}

// learnTogether has every sticky frontend learn for all of its group.
func learnTogether(claims []claim) {
	if !slices.ContainsFunc(claims, func(c claim) bool { return c.timeout > 0 }) {
		return
	}
	memories := map[string][]string{}
	for _, c := range claims {
		if c.timeout > 0 {
			memories[c.group] = append(memories[c.group], c.shape.memories()...)
		}
	}
	for i := range claims {
		c := &claims[i]
		list := slices.Compact(slices.Sorted(slices.Values(memories[c.group])))
		if c.timeout == 0 || len(list) == 0 {
			continue
		}
		then := c.shape.after.kind
		if then == programNone {
			then = programMasqueradeCluster
		}
		c.shape.after = program{kind: programLearn, memory: strings.Join(list, ","), timeout: c.timeout, then: then}
	}
}

// checkBackends lays out the slots of backends and leaves out what cannot be
// used.
func (t *Table) checkBackends(backends []Backend) (slots []slot, problems []Problem) {
	total := 0
	for _, b := range backends {
		total += min(max(b.Weight, 0), MaxSlots)
	}
	slots = make([]slot, 0, min(total, MaxSlots))
	repeated := repeatedBackends(backends)
	for i, b := range backends {
		reason := t.unusable(b.Addr, false)
		switch {
		case reason != "":
		case b.Weight < 1:
			reason = fmt.Sprintf("weight %d is less than 1", b.Weight)
		case repeated[i]:
			reason = "the frontend has it twice; the first one counts"
		case b.Weight > MaxSlots-len(slots):
			reason = fmt.Sprintf("the weights of all backends add up to more than %d", MaxSlots)
		}
		if reason != "" {
			problems = append(problems, Problem{Object: fmt.Sprintf("backend %v", b.Addr), Reason: reason})
			continue
		}
		s := slot{ip: ipBytes(b.Addr.Addr()), port: b.Addr.Port(), local: b.Local}
		for range b.Weight {
			slots = append(slots, s)
		}
	}
	return slots, problems
}

// repeatedBackends returns which backends repeat an earlier one. Backends in
// the order of their addresses, the usual case, cost one pass and no memory.
func repeatedBackends(backends []Backend) map[int]bool {
	ordered := true
	for i := 1; i < len(backends) && ordered; i++ {
		ordered = backends[i-1].Addr.Compare(backends[i].Addr) < 0
	}
	if ordered {
		return nil
	}
	repeated := map[int]bool{}
	seen := make(map[netip.AddrPort]bool, len(backends))
	for i, b := range backends {
		repeated[i] = seen[b.Addr]
		seen[b.Addr] = true
	}
	return repeated
}

// unusable says why an address cannot be dialled or be a destination in this
// table, or "".
func (t *Table) unusable(a netip.AddrPort, nodePort bool) string {
	switch addr := a.Addr(); {
	case !addr.IsValid():
		return "the address is not valid"
	case addr.Zone() != "":
		return "an address with a zone cannot be matched"
	case addr.Is4In6():
		return "an IPv4 address mapped into IPv6 cannot be matched"
	case FamilyOf(addr) != t.cfg.Family:
		return fmt.Sprintf("the address does not belong to family %v", t.cfg.Family)
	case addr.IsUnspecified() && !nodePort:
		return "the unspecified address cannot be dialled"
	case addr.IsMulticast():
		return "a multicast address cannot be dialled"
	case a.Port() == 0:
		return "port 0 cannot be dialled"
	}
	return ""
}

// contestProblems names the services that do not get a frontend, after s has
// claimed it.
func (t *Table) contestProblems(key frontendKey, s *service) (problems []Problem) {
	rivals := t.contested[key]
	object := "frontend " + t.keyText(key)
	for i, r := range rivals[1:] {
		if r == s || (rivals[0] == s && i == 0) {
			c := r.claim(key)
			problems = append(problems, Problem{Service: r.name, Port: c.port, Object: object,
				Reason: fmt.Sprintf("service %q has it already and ranks first", rivals[0].name)})
		}
	}
	return problems
}

func (t *Table) keyText(key frontendKey) string {
	return fmt.Sprintf("%v %v", netip.AddrPortFrom(t.cfg.Family.ipAddr(key.ip), key.port), key.proto)
}

// OwnerOf returns the name of the service that has a frontend.
func (t *Table) OwnerOf(addr netip.AddrPort, proto Protocol) (service string, ok bool) {
	f, ok := t.frontends[makeKey(addr, proto)]
	if !ok {
		return "", false
	}
	return f.owner.name, true
}
