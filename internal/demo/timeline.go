package demo

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// moment is the outcome of a connection and when it began, counted from the
// start of the scene.
type moment struct {
	at time.Duration
	outcome
}

// event is something that was done while connections ran.
type event struct {
	// at is when it was done, and programmed when the kernel of the node that
	// is watched had it, both counted from the start. An event without a part
	// for the kernel has programmed 0.
	at, programmed time.Duration
	what           string
}

// slot is the length of time that a line of the timeline stands for.
const slot = 100 * time.Millisecond

// timeline shows where connections went over time: a line for each slot, with
// the share that pods on the node answered, and what was done in that slot.
func timeline(moments []moment, events []event, isLocal func(pod string) bool, until time.Duration) string {
	t := &table{align: "rrlrrrl"}
	t.row("time", "conns", "on node-a #, elsewhere .", "same node", "elsewhere", "failed")
	slots := int((until + slot - 1) / slot)
	tallies := make([]tally, slots)
	for _, m := range moments {
		if i := int(m.at / slot); i < slots {
			tallies[i].add(m.outcome)
		}
	}
	for i := range tallies {
		from := time.Duration(i) * slot
		var notes []string
		for _, e := range events {
			if e.at >= from && e.at < from+slot {
				notes = append(notes, e.text())
			}
		}
		n := tallies[i].answered
		local := tallies[i].shareOf(isLocal)
		if len(notes) > 0 {
			notes[0] = "<- " + notes[0]
		}
		t.row(fmt.Sprintf("%.1f s", from.Seconds()), thousands(n+tallies[i].failed), bar(local, n),
			percent(local, n), percent(1-local, n), thousands(tallies[i].failed), strings.Join(notes, "; "))
	}
	return t.String()
}

func (e event) text() string {
	if e.programmed == 0 {
		return e.what
	}
	return fmt.Sprintf("%s; in the kernel %.0f ms later", e.what, (e.programmed-e.at).Seconds()*1000)
}

// bar draws a share as # and the rest as dots; nothing if there is nothing.
func bar(share float64, n int) string {
	const width = 24
	if n == 0 {
		return ""
	}
	full := int(share*width + 0.5)
	return strings.Repeat("#", full) + strings.Repeat(".", width-full)
}

// phase is a time in which connections may go to certain pods only.
type phase struct {
	what     string
	from, to time.Duration
	allowed  []string
}

// check returns what the connections of the phase did that they may not do: the
// connections that were dialled and established within it, for those at its
// edges may have met the kernel outside. A phase without any connection has
// shown nothing, which is a problem too.
func (p phase) check(moments []moment) (problems []string) {
	wrong, seen := make(map[string]int), 0
	for _, m := range moments {
		if m.err != nil || m.at < p.from || m.at+m.connect > p.to {
			continue
		}
		seen++
		if !slices.Contains(p.allowed, m.pod) {
			wrong[m.pod]++
		}
	}
	if seen == 0 {
		return []string{p.what + ": no connection was made"}
	}
	for _, pod := range slices.Sorted(maps.Keys(wrong)) {
		problems = append(problems, fmt.Sprintf("%s: %d connections went to %q, expected %s",
			p.what, wrong[pod], pod, strings.Join(p.allowed, " or ")))
	}
	return problems
}
