package main

import (
	"github.com/spf13/cobra"

	"github.com/nearside/nearside/internal/demo"
)

func newDemoCommand() *cobra.Command {
	var opts demo.Options
	cmd := &cobra.Command{
		Use:   "demo [flags]",
		Short: "Show the policies at work in a small cluster on this machine; needs root",
		Long: `Builds a cluster of two zones and three nodes out of network namespaces on this
machine, runs a real agent on each node, makes some thousand real connections
under each policy, and prints which node's connections went to which endpoint.
Then it takes endpoints away in mid-traffic and counts the connections that fail.

It takes about 20 seconds and removes all it has made, also when interrupted.`,
		Example: `  nearside demo
  nearside demo --connections 200`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.Connections < 1 {
				return usagef("flag --connections: %d is not a positive number", opts.Connections)
			}
			if opts.ZoneDelay == 0 {
				opts.ZoneDelay = -1 // none, where the zero value of the option means the default
			}
			opts.Out, opts.Progress = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return demo.Run(cmd.Context(), opts)
		},
	}
	cmd.Flags().IntVar(&opts.Connections, "connections", demo.DefaultConnections,
		"connections each client makes to each service under each policy; fewer say less about shares")
	cmd.Flags().DurationVar(&opts.ZoneDelay, "zone-delay", demo.DefaultZoneDelay, "time a packet takes between two zones; 0 means none")
	return cmd
}
