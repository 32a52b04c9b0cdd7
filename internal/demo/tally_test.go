package demo

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const ms = time.Millisecond

// tallyOf makes a tally of so many answers by each pod, each connected in a
// millisecond, and so many failures.
func tallyOf(byPod map[string]int, failed int) *tally {
	t := new(tally)
	for pod, n := range byPod {
		for range n {
			t.add(outcome{pod: pod, connect: ms})
		}
	}
	for range failed {
		t.add(outcome{err: errors.New("connect: connection refused")})
	}
	return t
}

func TestTally(t *testing.T) {
	sum := tallyOf(map[string]int{"a": 30, "b": 10}, 2)
	require.Equal(t, 40, sum.answered)
	require.Equal(t, 2, sum.failed)
	require.InDelta(t, 0.75, sum.share("a"), 1e-9, "failures have no share")
	require.InDelta(t, 0.25, sum.share("b"), 1e-9)
	require.Zero(t, sum.share("c"))
	require.InDelta(t, 1, sum.shareOf(func(string) bool { return true }), 1e-9)
	require.Equal(t, []string{"a", "b"}, sum.pods())
	require.Equal(t, "connect: connection refused", sum.reason())
	require.Len(t, sum.connect, 40, "a failure has no time to connect")

	sum.merge(tallyOf(map[string]int{"c": 40}, 1))
	require.Equal(t, 80, sum.answered)
	require.Equal(t, 3, sum.failed)
	require.InDelta(t, 0.5, sum.share("c"), 1e-9)

	empty := new(tally)
	require.Zero(t, empty.share("a"))
	require.Zero(t, empty.connectTime(50))
	require.Empty(t, empty.reason())
	empty.merge(new(tally))
	require.Empty(t, empty.pods())
}

func TestTallyReason(t *testing.T) {
	sum := new(tally)
	for _, text := range []string{"z", "often", "a", "often"} {
		sum.add(outcome{err: errors.New(text)})
	}
	require.Equal(t, "often", sum.reason())
	require.Equal(t, "a", tallyReasons("b", "a").reason(), "of equally frequent ones the lesser")
}

func tallyReasons(texts ...string) *tally {
	sum := new(tally)
	for _, text := range texts {
		sum.add(outcome{err: errors.New(text)})
	}
	return sum
}

func TestPercentile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i+1) * ms
	}
	tests := []struct {
		name    string
		sorted  []time.Duration
		percent float64
		want    time.Duration
	}{
		{name: "nothing has no percentile", percent: 50, want: 0},
		{name: "one value is every percentile", sorted: []time.Duration{7 * ms}, percent: 1, want: 7 * ms},
		{name: "half of an even number", sorted: []time.Duration{ms, 2 * ms}, percent: 50, want: ms},
		{name: "half of an odd number", sorted: []time.Duration{ms, 2 * ms, 3 * ms}, percent: 50, want: 2 * ms},
		{name: "the 50th of a hundred", sorted: hundred, percent: 50, want: 50 * ms},
		{name: "the 99th of a hundred", sorted: hundred, percent: 99, want: 99 * ms},
		{name: "a fraction is rounded up", sorted: hundred, percent: 98.1, want: 99 * ms},
		{name: "the greatest", sorted: hundred, percent: 100, want: 100 * ms},
		{name: "the least", sorted: hundred, percent: 0, want: ms},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, percentile(tc.sorted, tc.percent))
		})
	}
}

func TestPercentileProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, 50), 1, 60).Draw(t, "values")
		percent := float64(rapid.IntRange(1, 100).Draw(t, "percent"))
		var sum tally
		for _, v := range values {
			sum.add(outcome{pod: "a", connect: time.Duration(v)})
		}
		got := sum.connectTime(percent)
		notExceeded, below := 0, 0
		for _, v := range values {
			if time.Duration(v) <= got {
				notExceeded++
			}
			if time.Duration(v) < got {
				below++
			}
		}
		n := float64(len(values))
		require.True(t, slices.Contains(values, int64(got)))
		require.GreaterOrEqual(t, float64(notExceeded), percent/100*n-1e-6)
		require.Less(t, float64(below), percent/100*n+1e-6)
	})
}

func TestPlausible(t *testing.T) {
	tests := []struct {
		name               string
		share, probability float64
		n                  int
		want               bool
	}{
		{name: "exactly as expected", share: 0.5, probability: 0.5, n: 1000, want: true},
		{name: "as far off as chance goes", share: 0.55, probability: 0.5, n: 1000, want: true},
		{name: "further off than chance goes", share: 0.6, probability: 0.5, n: 1000, want: false},
		{name: "few connections say little", share: 0.6, probability: 0.5, n: 50, want: true},
		{name: "the only endpoint got all", share: 1, probability: 1, n: 1000, want: true},
		{name: "the only endpoint did not get all", share: 0.999, probability: 1, n: 1000, want: false},
		{name: "no connections say nothing", share: 0, probability: 0.5, n: 0, want: true},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, plausible(tc.share, tc.probability, tc.n))
		})
	}
}
