package demo

import (
	"bufio"
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/nearside/nearside/internal/netlab"
)

// keptPause is the time between two requests on a connection that is kept.
const keptPause = 5 * time.Millisecond

// keptTally sums up connections that are kept open for many requests.
type keptTally struct {
	mu       sync.Mutex
	requests map[string]int // by the pod that answered
	dialled  int            // connections that were made
	failed   int
	reason   string // of the first failure
}

// keep holds one connection open from the calling thread's namespace and sends
// requests on it until stop is closed. When a server asks to close, it connects
// again, as clients do.
func (k *keptTally) keep(ctx context.Context, address string, stop <-chan struct{}) {
	for !ended(stop) && ctx.Err() == nil {
		conn, _, err := dial(ctx, address, patience)
		if err == nil {
			k.count("", nil, true)
			err = k.use(ctx, conn, stop)
			_ = conn.Close()
		}
		if err != nil && ctx.Err() == nil {
			k.count("", err, false)
			time.Sleep(keptPause)
		}
	}
}

// use sends requests until stop, an error, or the server's wish to close.
func (k *keptTally) use(ctx context.Context, conn net.Conn, stop <-chan struct{}) error {
	r := bufio.NewReader(conn)
	for more := true; more && !ended(stop) && ctx.Err() == nil; {
		pod, again, err := ask(conn, r, nextRequest)
		if err != nil {
			return err
		}
		k.count(pod, nil, false)
		more = again
		time.Sleep(keptPause)
	}
	return nil
}

func (k *keptTally) count(pod string, err error, dialled bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case err != nil:
		if k.failed++; k.reason == "" {
			k.reason = err.Error()
		}
	case dialled:
		k.dialled++
	default:
		k.requests[pod]++
	}
}

// keepMany keeps n connections from a host until stop is closed.
func keepMany(ctx context.Context, host *netlab.Host, address string, n int, stop <-chan struct{}) (*keptTally, error) {
	k := &keptTally{requests: make(map[string]int)}
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() {
			errs[i] = host.Do(func() error {
				k.keep(ctx, address, stop)
				return nil
			})
		})
	}
	wg.Wait()
	return k, errors.Join(errs...)
}

func ended(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}
