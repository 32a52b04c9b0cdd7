// Command embedded is a node agent with a policy of its own: see Standby. It
// shows how another program takes nearside's agent in and adds to it.
//
//	go run ./examples/embedded -node node-a -f examples/manifests
//
// prints what the agent would program on that node. With -apply, which needs
// root, it programs the kernel once.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"os/signal"

	"github.com/nearside/nearside/agent"
	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/selector"
)

func main() {
	node := flag.String("node", "node-a", "`name` of this machine's Node object")
	path := flag.String("f", "examples/manifests", "`file or folder` with manifests")
	policy := flag.String("default-policy", "Standby", "`policy` of services that name none")
	apply := flag.Bool("apply", false, "write to the kernel instead of standard output")
	flag.Parse()

	// A transaction that has begun is finished before the interrupt counts.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, options(*node, *path, *policy), *apply); err != nil {
		fmt.Fprintln(os.Stderr, "embedded:", err)
		os.Exit(1)
	}
}

// options are those of an agent that also knows the policy Standby. A service
// chooses it by the annotation "nearside.dev/policy: Standby", or as here by
// being silent.
func options(node, path, policy string) agent.Options {
	selectors := map[string]selector.Selector{"Standby": Standby{}}
	for _, name := range selector.Names() {
		selectors[name], _ = selector.Builtin(name)
	}
	return agent.Options{
		NodeName:      node,
		Source:        &informer.Manifests{Paths: []string{path}},
		Selectors:     selectors,
		DefaultPolicy: policy,
		ClusterCIDRs:  []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00:10:1::/48")},
		Log:           slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
}

func run(ctx context.Context, out io.Writer, opts agent.Options, apply bool) error {
	a, err := agent.New(opts) //nolint:contextcheck // New does nothing yet that could be stopped
	if err != nil {
		return err
	}
	if !apply {
		text, err := a.Render(ctx)
		if err != nil {
			return err
		}
		_, err = io.WriteString(out, text)
		return err
	}
	// Once is one round. Run would go on and follow the manifests.
	round, err := a.Once(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "node %s: %d services, %d objects changed\n", opts.NodeName, round.Services, round.Changes())
	return err
}
