package agent

import (
	"context"
	"errors"
	"os"

	"github.com/nearside/nearside/conntrack"
	"github.com/nearside/nearside/nft"
)

// Kernel is where an Agent reads and writes tables. *nft.Conn is the real one.
// The agent calls it from one goroutine at a time.
type Kernel interface {
	// ReadBack returns the table of a family as it is, nil if there is none.
	ReadBack(ctx context.Context, f nft.Family) (*nft.Ruleset, error)
	// Apply carries out a transaction, all of it or nothing.
	Apply(ctx context.Context, tx *nft.Transaction) error
}

// openKernel returns the kernel of the options, or nftables in the network
// namespace of the calling thread, and how to let go of it.
func (a *Agent) openKernel() (k Kernel, release func(), err error) {
	if a.opts.Kernel != nil {
		a.flows = a.opts.Flows
		return a.opts.Kernel, func() {}, nil
	}
	conn, err := nft.Dial()
	if err != nil {
		return nil, nil, err
	}
	if a.flows = a.opts.Flows; a.flows != nil {
		return conn, func() { _ = conn.Close() }, nil
	}
	flows, err := conntrack.Dial()
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	a.flows = flows
	return conn, func() { _, _ = conn.Close(), flows.Close() }, nil
}

// kernelHasIPv6 reports whether the network namespace of the calling thread
// serves IPv6, by the rule of kube-proxy: the kernel has it, and it is not
// disabled for all interfaces.
func kernelHasIPv6() bool {
	if _, err := os.Stat("/proc/thread-self/net/if_inet6"); err != nil {
		return false
	}
	disabled, err := os.ReadFile("/proc/sys/net/ipv6/conf/all/disable_ipv6")
	return err != nil || len(disabled) == 0 || disabled[0] != '1'
}
