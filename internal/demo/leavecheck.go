package demo

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// String tells who answered the requests on kept connections.
func (k *keptTally) String() string {
	total := 0
	var words []string
	for _, pod := range slices.Sorted(maps.Keys(k.requests)) {
		total += k.requests[pod]
		words = append(words, fmt.Sprintf("%s by %s", thousands(k.requests[pod]), pod))
	}
	return fmt.Sprintf("%s requests, %s", thousands(total), strings.Join(words, ", "))
}

// phases are the times between the events in which it is certain where
// connections from the node have to go: those between an event and its arrival
// in the kernel are left out, for they may go either way.
func (s *leaveScene) phases() []phase {
	sc := s.stage.sc
	now := sc.start()
	allowed := func() []string { return sc.allowed(policyPreferLocal, s.service.name, s.node, now) }
	left, replaced := s.events[0], s.events[len(s.events)-1]
	phases := []phase{{what: "before " + leaving + " was terminating", to: left.at, allowed: allowed()}}
	now[leaving] = terminating
	phases = append(phases, phase{what: "without " + leaving, from: left.programmed, to: replaced.at, allowed: allowed()})
	now[leaving], now[replacement] = absent, ready
	return append(phases, phase{what: "with " + replacement, from: replaced.programmed, to: time.Hour, allowed: allowed()})
}

// check returns what is not as it should be.
func (s *leaveScene) check() (problems []string) {
	for _, p := range s.phases() {
		problems = append(problems, p.check(s.moments[s.node])...)
	}
	for _, node := range s.stage.sc.nodes() {
		if _, failed := s.sum(node); failed > 0 {
			problems = append(problems, fmt.Sprintf("%d new connections from %s failed, for instance: %s", failed, node, firstFailure(s.moments[node])))
		}
	}
	if s.kept.failed > 0 {
		problems = append(problems, fmt.Sprintf("%d requests on kept connections failed, for instance: %s", s.kept.failed, s.kept.reason))
	}
	if s.kept.requests[leaving] == 0 {
		problems = append(problems, "no kept connection was answered by "+leaving)
	}
	if s.cut > 0 {
		problems = append(problems, fmt.Sprintf("%s had to cut off %d connections", leaving, s.cut))
	}
	for i := range problems {
		problems[i] = "while the endpoint goes away: " + problems[i]
	}
	return problems
}

func firstFailure(moments []moment) string {
	for _, m := range moments {
		if m.err != nil {
			return m.err.Error()
		}
	}
	return ""
}
