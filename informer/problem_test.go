package informer

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func TestAProblemIsToldOnce(t *testing.T) {
	bad := newSlice("web-1", ep("10.1.1.5", "node-a"), ep("nonsense", "node-a"))
	good := newSlice("web-1", ep("10.1.1.5", "node-a"))
	node := newNode("node-a", "zone-1")
	s, told := newStore(t, newService(), bad, node)
	require.Len(t, *told, 1)
	require.Equal(t, *told, s.Problems())

	for i := range 20 {
		require.NoError(t, s.Set(newSlice("web-2", ep(fmt.Sprintf("10.1.2.%d", i+1), "node-b"))))
	}
	bad.Endpoints = append(bad.Endpoints, ep("10.1.1.7", "node-a"))
	require.NoError(t, s.Set(bad))
	replace(t, s, newService(), bad, node)
	require.Len(t, *told, 1, "not with other changes, nor with a new list")

	require.NoError(t, s.Set(good))
	require.Empty(t, s.Problems())
	require.NoError(t, s.Set(bad))
	require.Len(t, *told, 2, "again after it went away and came back")

	require.NoError(t, s.Delete(bad))
	require.Empty(t, s.Problems(), "gone with the object")
	require.NoError(t, s.Set(bad))
	replace(t, s, newService(), node)
	require.Empty(t, s.Problems(), "gone with an object that a new list does not hold")

	unusable := newService(func(s *corev1.Service) { s.Name, s.Spec.ClusterIP = "bad", "x" })
	require.NoError(t, s.Set(unusable))
	require.Len(t, s.Problems(), 1, "an object of which nothing is left has problems, too")
	replace(t, s, newService(), node)
	require.Empty(t, s.Problems())

	require.NoError(t, s.Delete(node))
	require.Len(t, s.Problems(), 1)
	before := len(*told)
	replace(t, s, newService())
	require.Len(t, *told, before, "a Node that is still missing is not told again")
}

func TestOnProblemMayReadTheStore(t *testing.T) {
	var s *Store
	count := 0
	s = NewStore(StoreOptions{OnProblem: func(Problem) { count = len(s.Problems()) + len(s.Services()) }})
	require.NoError(t, s.Set(newSlice("web-1", ep("nonsense", "node-a")), newService()))
	require.Equal(t, 2, count)
}
