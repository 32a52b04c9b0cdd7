package informer

import "context"

// Source feeds a Store with the objects of a cluster.
//
// Run blocks until ctx ends, and then returns nil. It returns an error only
// when it cannot begin; afterwards trouble is logged, the last known state stays,
// and Run tries again. It leaves no goroutine behind. A Source is run once, into
// one Store.
type Source interface {
	Run(ctx context.Context, s *Store) error
}
