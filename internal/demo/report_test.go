package demo

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	tab := &table{align: "lrl"}
	tab.row("name", "n", "note")
	tab.row("a", "1,000", "")
	tab.row("longer", "7", "ünïcode")
	tab.row("short")
	require.Equal(t, ""+
		"  name        n  note\n"+
		"  a       1,000\n"+
		"  longer      7  ünïcode\n"+
		"  short\n", tab.String())
}

func TestPolicyTable(t *testing.T) {
	sc := theScenario()
	slow := tallyOf(map[string]int{"cart-1": 331, "cart-2": 334, "cart-3": 332}, 3)
	slow.connect[len(slow.connect)-1] = 12345 * time.Microsecond
	none := new(tally)
	for range 20 {
		none.add(outcome{err: plain("connect", errTimeout)})
	}
	rows := []measured{
		{node: "node-a", allowed: []string{"cart-1"}, tally: tallyOf(map[string]int{"cart-1": 1000}, 0)},
		{node: "node-b", allowed: []string{"cart-1", "cart-2", "cart-3"}, tally: slow},
		{node: "node-c", tally: none},
	}
	golden(t, "policytable.golden", sc.policyTable("cart", rows))
}

func TestSummaryTable(t *testing.T) {
	rows := func(cart map[string]int, failed int) map[string][]measured {
		return map[string][]measured{
			"cart":  {{node: "node-a", allowed: []string{"cart-1"}, tally: tallyOf(cart, failed)}, {node: "node-c", tally: tallyOf(nil, 20)}},
			"stock": {{node: "node-c", allowed: []string{"stock-2"}, tally: tallyOf(map[string]int{"stock-2": 100}, 0)}},
		}
	}
	golden(t, "summarytable.golden", summaryTable(theScenario(), []result{
		{policy: policyCluster, services: rows(map[string]int{"cart-1": 40, "cart-2": 60}, 1)},
		{policy: policyPreferLocal, services: rows(map[string]int{"cart-1": 1000}, 0)},
		{policy: policyLocal, services: map[string][]measured{"cart": {{node: "node-c", tally: tallyOf(nil, 20)}}}},
	}))
}

func TestVerdict(t *testing.T) {
	run := func(problems ...string) (string, error) {
		var out bytes.Buffer
		d := &demo{console: newConsole(Options{Out: &out}, func(error) {}), leave: &leaveScene{moments: map[string][]moment{
			"node-a": {{outcome: outcome{pod: "cart-1"}}, {outcome: outcome{err: errors.New("boom")}}},
		}}}
		d.results = []result{{policy: policyLocal, services: map[string][]measured{"cart": {
			{node: "node-a", allowed: []string{"cart-1"}, tally: tallyOf(map[string]int{"cart-1": 999}, 1)},
			{node: "node-c", tally: tallyOf(nil, 20)},
		}}}}
		err := d.verdict(problems, 12*time.Second)
		return out.String(), err
	}
	text, err := run()
	require.NoError(t, err)
	require.Equal(t, "\nPASS: 1,000 connections answered, 20 dropped because Local demands it, 2 failed, in 12 s. "+
		"Every connection went where its policy says.\n", text)
	text, err = run("this is off", "and that")
	require.ErrorIs(t, err, ErrOff)
	require.Contains(t, text, "\nFAIL: 1,000 connections")
	require.Contains(t, text, "\n  - this is off\n  - and that\n")
}

func TestPolicyTableWithoutAnswers(t *testing.T) {
	sc := theScenario()
	rows := []measured{{node: "node-c", allowed: []string{"cart-1"}, tally: tallyOf(nil, 40)}}
	require.Contains(t, sc.policyTable("cart", rows), "40")
	require.Contains(t, sc.policyTable("cart", rows), "connect: connection refused")
	require.NotContains(t, sc.policyTable("cart", rows), "dropped")
}

func TestMeasuredCheck(t *testing.T) {
	silent := func(n int) *tally {
		sum := new(tally)
		for range n {
			sum.add(outcome{err: plain("connect", errTimeout)})
		}
		return sum
	}
	tests := []struct {
		name    string
		allowed []string
		tally   *tally
		want    []string
	}{
		{name: "all as it should be", allowed: []string{"a", "b"}, tally: tallyOf(map[string]int{"a": 490, "b": 510}, 0)},
		{name: "silence where nothing may answer", tally: silent(20)},
		{
			name: "a connection failed", allowed: []string{"a"}, tally: tallyOf(map[string]int{"a": 999}, 1),
			want: []string{"1 connections failed, most often: connect: connection refused"},
		},
		{
			name: "every connection failed", allowed: []string{"a"}, tally: tallyOf(nil, 5),
			want: []string{"5 connections failed, most often: connect: connection refused", "no connection was answered"},
		},
		{
			name: "no connection was made", allowed: []string{"a"}, tally: new(tally),
			want: []string{"no connection was answered"},
		},
		{
			name: "one went where it may not go", allowed: []string{"a"}, tally: tallyOf(map[string]int{"a": 999, "b": 1}, 0),
			want: []string{`1 connections went to "b", which the policy does not allow`, "a answered 99.9% of 1000 connections, expected about 100.0%"},
		},
		{
			name: "an endpoint was left out", allowed: []string{"a", "b"}, tally: tallyOf(map[string]int{"a": 1000}, 0),
			want: []string{
				"a answered 100.0% of 1000 connections, expected about 50.0%",
				"b answered 0.0% of 1000 connections, expected about 50.0%",
			},
		},
		{
			name: "an answer where nothing may answer", tally: tallyOf(map[string]int{"a": 2}, 0),
			want: []string{"2 connections were answered, by a, though the node has no endpoint"},
		},
		{
			name: "refused where it should be dropped", tally: tallyOf(nil, 20),
			want: []string{"20 connections were refused instead of dropped, most often: connect: connection refused"},
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m := measured{node: "node-a", allowed: tc.allowed, tally: tc.tally}
			require.Equal(t, tc.want, m.check())
		})
	}
}

func TestTimeline(t *testing.T) {
	var moments []moment
	at := func(when time.Duration, pod string, n int) {
		for range n {
			moments = append(moments, moment{at: when, outcome: outcome{pod: pod, connect: ms}})
		}
	}
	at(0, "cart-1", 120)
	at(150*ms, "cart-1", 30)
	at(160*ms, "cart-2", 30)
	at(250*ms, "cart-2", 50)
	moments = append(moments, moment{at: 260 * ms, outcome: outcome{err: errors.New("connect: connection refused")}})
	at(900*ms, "cart-1", 5) // after the end
	events := []event{
		{at: 140 * ms, programmed: 152 * ms, what: "cart-1 is marked as terminating"},
		{at: 299 * ms, what: "cart-1 ends"},
		{at: 299 * ms, what: "so does the demo"},
	}
	isLocal := func(pod string) bool { return pod == "cart-1" }
	golden(t, "timeline.golden", timeline(moments, events, isLocal, 400*ms))
}

func TestPhaseCheck(t *testing.T) {
	moments := []moment{
		{at: 5 * ms, outcome: outcome{pod: "a", connect: ms}},
		{at: 15 * ms, outcome: outcome{pod: "b", connect: 2 * ms}},
		{at: 16 * ms, outcome: outcome{err: errors.New("boom")}},
	}
	tests := []struct {
		name  string
		phase phase
		want  []string
	}{
		{name: "all where they may be", phase: phase{what: "early", to: 10 * ms, allowed: []string{"a"}}},
		{name: "a connection that goes beyond the end is not part of it", phase: phase{what: "early", to: 16 * ms, allowed: []string{"a"}}},
		{
			name: "the beginning is part of it", phase: phase{what: "late", from: 15 * ms, to: 20 * ms, allowed: []string{"a", "c"}},
			want: []string{`late: 1 connections went to "b", expected a or c`},
		},
		{
			name: "a failure shows nothing", phase: phase{what: "late", from: 16 * ms, to: 20 * ms, allowed: []string{"a"}},
			want: []string{"late: no connection was made"},
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.want, tc.phase.check(moments)) })
	}
}
