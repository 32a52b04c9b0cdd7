package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nearside/nearside/agent"
	"github.com/nearside/nearside/informer"
)

// agentFlags are the flags of the running agent.
type agentFlags struct {
	minSyncPeriod  time.Duration
	healthzAddress string
	metricsAddress string
	socket         string
}

func (f *agentFlags) add(flags *pflag.FlagSet) {
	flags.DurationVar(&f.minSyncPeriod, "min-sync-period", agent.DefaultMinSyncPeriod,
		"least time between two rounds; changes in between are handled together; 0 means no wait")
	flags.StringVar(&f.healthzAddress, "healthz-bind-address", "0.0.0.0:10256", "address of /healthz and /livez; empty means none")
	flags.StringVar(&f.metricsAddress, "metrics-bind-address", "127.0.0.1:10249", "address of /metrics; empty means none")
	flags.StringVar(&f.socket, "socket", "", "unix socket on which nearside explain --agent may ask; empty means none")
}

func (f *agentFlags) set(opts *agent.Options) {
	opts.MinSyncPeriod = noWaitIfZero(f.minSyncPeriod)
	opts.HealthzAddress, opts.MetricsAddress = f.healthzAddress, f.metricsAddress
	opts.Socket = f.socket
}

func newRunCommand() *cobra.Command {
	var source sourceFlags
	var node nodeFlags
	var running agentFlags
	var setup hostFlags
	var logs logFlags
	cmd := &cobra.Command{
		Use:   "run [flags]",
		Short: "Run the node agent; needs root",
		Long: `Follows Services, EndpointSlices and Nodes, and keeps the tables "ip nearside"
and "ip6 nearside" of this node up to date until it is told to stop. The tables
stay when it ends, so that a restart is not noticed by connections; nearside
cleanup removes them.

The objects come from a Kubernetes API server (--kubeconfig, or the service
account when running in a pod) or from manifests that are watched (--manifests).

At its start it makes room for connections and sets their timeouts in the
kernel, where they differ from what the --conntrack flags say.`,
		Example: `  nearside run --kubeconfig /etc/nearside/kubeconfig --cluster-cidr 10.244.0.0/16
  nearside run --manifests /etc/nearside/manifests --node-name node-a
  nearside run --manifests manifests/ --node-name node-a --socket /run/nearside.sock
  nearside run --init-only`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := logs.logger(cmd.ErrOrStderr(), true)
			if err != nil {
				return err
			}
			host := &host{hostFlags: setup, log: log}
			if setup.initOnly {
				return host.setUp(cmd.Context())
			}
			opts, err := node.options(cmd.Flags())
			if err != nil {
				return err
			}
			if opts.Source, err = source.source(cmd.InOrStdin(), log); err != nil {
				return err
			}
			opts.Log = log
			running.set(&opts)
			log.Debug("starting", "version", readVersion().String())
			return runAgent(cmd.Context(), opts, host)
		},
	}
	source.add(cmd.Flags())
	node.add(cmd.Flags())
	running.add(cmd.Flags())
	setup.add(cmd.Flags())
	logs.add(cmd.Flags())
	return cmd
}

// runAgent sets up the host and runs an agent until ctx ends.
func runAgent(ctx context.Context, opts agent.Options, h *host) error {
	opts.OnRound = func(r agent.Round) { h.afterRound(ctx, r) }
	started := func() {}
	if k, ok := opts.Source.(*informer.Kubernetes); ok {
		sender, release, err := sendEvents(ctx, k.Client, h.log)
		if err != nil {
			return err
		}
		defer release()
		opts.OnNotice = sender.notice
		started = func() { sender.starting(opts.NodeName) }
	}
	a, err := newAgent(opts)
	if err != nil {
		return err
	}
	h.adjustOOMScore()
	if err := h.setUp(ctx); err != nil {
		return err
	}
	started()
	if err := a.Run(ctx); err != nil {
		return err
	}
	h.log.Info("stopped; the tables stay")
	return nil
}
