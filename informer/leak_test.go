package informer

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// Case 062: state is proportional to what exists now.
func TestNothingStaysOfWhatWasDeleted(t *testing.T) {
	s, _ := newStore(t)
	round := func(i int) {
		name := fmt.Sprintf("svc-%d", i)
		service := newService(func(s *corev1.Service) { s.Name = name })
		slice := newSlice(name + "-abcde")
		slice.Labels[discoveryv1.LabelServiceName] = name
		for e := range 100 {
			slice.Endpoints = append(slice.Endpoints, ep(fmt.Sprintf("10.1.%d.%d", i%250, e+1), fmt.Sprintf("node-%d-%d", i, e%3)))
		}
		if i%7 == 0 {
			slice.Endpoints = append(slice.Endpoints, ep("bad", "node-a"))
		}
		require.NoError(t, s.Set(service, slice))
		require.Len(t, s.Take().Services, 1)
		if i%2 == 0 {
			require.NoError(t, s.Delete(slice))
			require.NoError(t, s.Delete(service))
		} else {
			require.NoError(t, s.Delete(service))
			require.NoError(t, s.Delete(slice))
		}
		require.Len(t, s.Take().Services, 1)
	}
	heap := func() uint64 {
		var stats runtime.MemStats
		for range 3 { // interned names go in a second round
			runtime.GC()
		}
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	for i := range 100 {
		round(i)
	}
	before := heap()
	rounds := 20_000
	if testing.Short() {
		rounds = 2_000
	}
	for i := 100; i < rounds; i++ {
		round(i)
	}
	require.Empty(t, s.groups)
	require.Empty(t, s.slices)
	require.Empty(t, s.dirty)
	require.Len(t, s.book.byOwner, 1, "the missing Node only")
	require.Less(t, float64(heap()), 1.2*float64(before))
}
