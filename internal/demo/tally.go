package demo

import (
	"maps"
	"math"
	"slices"
	"time"
)

// outcome is what became of one connection.
type outcome struct {
	// pod is who answered, empty if nobody did.
	pod string
	// connect is how long the connection took to be established.
	connect time.Duration
	// err is why there was no answer.
	err error
}

// tally sums up the outcomes of many connections. The zero value is empty.
type tally struct {
	answered, failed int
	byPod            map[string]int
	connect          []time.Duration // of those that were answered
	reasons          map[string]int  // of those that failed
}

func (t *tally) add(o outcome) {
	if o.err != nil {
		if t.reasons == nil {
			t.reasons = make(map[string]int)
		}
		t.failed++
		t.reasons[o.err.Error()]++
		return
	}
	if t.byPod == nil {
		t.byPod = make(map[string]int)
	}
	t.answered++
	t.byPod[o.pod]++
	t.connect = append(t.connect, o.connect)
}

// merge adds the outcomes of another tally.
func (t *tally) merge(o *tally) {
	t.answered += o.answered
	t.failed += o.failed
	t.connect = append(t.connect, o.connect...)
	t.byPod = addCounts(t.byPod, o.byPod)
	t.reasons = addCounts(t.reasons, o.reasons)
}

func addCounts(to, from map[string]int) map[string]int {
	if to == nil && len(from) > 0 {
		to = make(map[string]int, len(from))
	}
	for name, n := range from {
		to[name] += n
	}
	return to
}

// share is the part of the answered connections that one pod answered, 0 to 1.
func (t *tally) share(pod string) float64 { return t.shareOf(func(p string) bool { return p == pod }) }

// shareOf is the part of the answered connections that certain pods answered.
func (t *tally) shareOf(counts func(pod string) bool) float64 {
	if t.answered == 0 {
		return 0
	}
	return float64(t.count(counts)) / float64(t.answered)
}

// count is the number of connections that certain pods answered.
func (t *tally) count(counts func(pod string) bool) (n int) {
	for pod, k := range t.byPod {
		if counts(pod) {
			n += k
		}
	}
	return n
}

// pods returns who answered, sorted.
func (t *tally) pods() []string { return slices.Sorted(maps.Keys(t.byPod)) }

// reason returns the most frequent reason of a failure; of equally frequent ones
// the lesser.
func (t *tally) reason() string {
	best := ""
	for _, r := range slices.Sorted(maps.Keys(t.reasons)) {
		if t.reasons[r] > t.reasons[best] {
			best = r
		}
	}
	return best
}

// connectTime returns the given percentile of the time to connect.
func (t *tally) connectTime(percent float64) time.Duration {
	sorted := slices.Sorted(slices.Values(t.connect))
	return percentile(sorted, percent)
}

// percentile returns the least of the sorted values that is not exceeded by the
// given percentage of them (nearest rank); 0 if there are none.
func percentile(sorted []time.Duration, percent float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(percent / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// plausible reports whether a share is what chance may make of n connections of
// which each goes there with the given probability: within five standard
// deviations, which chance leaves once in two million times.
func plausible(share, probability float64, n int) bool {
	if n == 0 {
		return true
	}
	deviation := math.Sqrt(probability * (1 - probability) / float64(n))
	return math.Abs(share-probability) <= 5*deviation+1e-9
}
