package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/nodeaddrs"
)

// hostAddrs are the addresses on this machine's interfaces as they were last
// seen. The watcher writes, rounds read.
type hostAddrs struct {
	mu      sync.Mutex
	addrs   []netip.Addr
	known   bool
	changed bool
}

func (h *hostAddrs) set(addrs []netip.Addr) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.addrs, h.known, h.changed = addrs, true, true
}

// take returns the addresses, whether they are known at all, and whether they
// changed since the last take.
func (h *hostAddrs) take() (addrs []netip.Addr, known, changed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	changed, h.changed = h.changed, false
	return h.addrs, h.known, changed
}

// watchAddrs follows the addresses of this machine from the calling thread's
// network namespace. It returns once they are known for the first time.
func (a *Agent) watchAddrs(ctx context.Context, background *sync.WaitGroup) error {
	w, err := nodeaddrs.Dial(nodeaddrs.Options{Log: a.log})
	if err != nil {
		return fmt.Errorf("follow the addresses of this machine: %w", err)
	}
	first := make(chan struct{})
	var once sync.Once
	ended := make(chan error, 1)
	background.Go(func() {
		err := w.Run(ctx, func(addrs []netip.Addr) {
			a.host.set(addrs)
			a.alarm.ring()
			once.Do(func() { close(first) })
		})
		ended <- errors.Join(err, w.Close())
		if err != nil {
			a.log.Error("the addresses of this machine are not followed any more", "error", err)
		}
	})
	select {
	case <-first:
		return nil
	case err := <-ended:
		if err == nil {
			err = ctx.Err()
		}
		return fmt.Errorf("read the addresses of this machine: %w", err)
	}
}

// readAddrs reads the addresses of this machine once.
func (a *Agent) readAddrs(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()
	return a.watchAddrs(ctx, &background)
}

// placeNodePorts tells the tables and the health checks where node ports are
// served, if that may have changed.
func (a *Agent) placeNodePorts(node informer.Node, nodeChanged bool) {
	local, known, changed := a.host.take()
	if !changed && !nodeChanged {
		return
	}
	spec := nodeaddrs.Spec(a.opts.NodePortAddresses)
	if !known {
		local = node.Addresses // not this machine: what the Node object says
	}
	a.served = nodeaddrs.Select(local, node.Addresses, spec)
	for _, f := range a.families {
		f.table.SetNodeAddrs(a.served)
	}
	a.checks.SetAddresses(nodeaddrs.Listen(local, node.Addresses, spec))
}
