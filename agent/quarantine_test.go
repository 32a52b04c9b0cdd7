package agent

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/informer"
)

func TestBackoffDoublesUpToHalfAMinute(t *testing.T) {
	now := time.Now()
	var b backoff
	require.False(t, b.waiting(now))
	var waits []time.Duration
	for range 8 {
		b.fail(now)
		waits = append(waits, b.next.Sub(now))
	}
	require.Equal(t, []time.Duration{
		1 * time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second,
		30 * time.Second, 30 * time.Second, 30 * time.Second,
	}, waits)
	require.True(t, b.waiting(now))
	require.False(t, b.waiting(b.next), "the time has come")
	b.succeed()
	require.Equal(t, backoff{}, b)
}

func TestEarlier(t *testing.T) {
	first, second := time.Unix(1, 0), time.Unix(2, 0)
	require.Equal(t, first, earlier(first, second))
	require.Equal(t, first, earlier(second, first))
	require.Equal(t, first, earlier(time.Time{}, first))
	require.Equal(t, first, earlier(first, time.Time{}))
	require.True(t, earlier(time.Time{}, time.Time{}).IsZero())
}

func TestQuarantine(t *testing.T) {
	now, bad := time.Now(), errors.New("refused")
	q := newQuarantine()
	require.True(t, q.next().IsZero())
	q.add(shop("a"), bad, now)
	require.Equal(t, 1, q.size())
	require.Empty(t, q.due(now))
	require.Equal(t, now.Add(time.Second), q.next())
	now = now.Add(time.Second)
	require.Equal(t, []informer.Name{shop("a")}, q.due(now))

	q.try(shop("a"))
	q.try(shop("b")) // not in quarantine, so nothing happens
	require.True(t, q.tried(shop("a")))
	require.False(t, q.tried(shop("b")))
	require.Empty(t, q.due(now), "the trial is under way")
	require.True(t, q.next().IsZero())

	q.add(shop("a"), bad, now)
	require.Equal(t, now.Add(2*time.Second), q.next(), "guilty again: twice as long")
	q.acquit()
	require.Equal(t, 1, q.size(), "only those on trial can be acquitted")
	q.try(shop("a"))
	q.acquit()
	require.Zero(t, q.size())
}
