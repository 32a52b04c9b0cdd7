package informer

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Written to be run with -race: all methods at once.
func TestTheStoreIsSafeForUseByManyGoroutines(t *testing.T) {
	s := NewStore(StoreOptions{NodeName: "node-a", OnProblem: func(Problem) {}})
	require.NoError(t, s.Replace())
	ctx, cancel := context.WithCancel(t.Context())
	var readers, writers sync.WaitGroup
	readers.Go(func() {
		for s.Wait(ctx) == nil {
			for _, n := range s.Take().Services {
				s.Service(n)
			}
		}
	})
	readers.Go(func() {
		for ctx.Err() == nil {
			s.Services()
			s.Problems()
			s.Node()
			s.Nodes()
			s.WantNodes()
		}
	})
	for w := range 3 {
		writers.Go(func() {
			for i := range 200 {
				_ = s.Set(newService(), newSlice(fmt.Sprintf("web-%d", w), ep(fmt.Sprintf("10.1.%d.%d", w, i+1), "node-a"), ep("bad", "")))
				_ = s.Set(newNode("node-a", fmt.Sprintf("zone-%d", i)))
				_ = s.Delete(newSlice(fmt.Sprintf("web-%d", (w+1)%3)))
			}
		})
	}
	writers.Wait()
	cancel()
	readers.Wait()
}
