package main

import (
	"io"

	"github.com/spf13/cobra"
)

func newRenderCommand() *cobra.Command {
	var node nodeFlags
	var files fileFlags
	var logs logFlags
	cmd := &cobra.Command{
		Use:   "render -f PATH... [flags]",
		Short: "Print the tables for a node in nft syntax; needs no root",
		Long: `Prints the tables "ip nearside" and "ip6 nearside" that a node would have for
the given manifests. The text is what nft list table prints, and valid input of
nft -f where the tables do not exist yet. Nothing on this machine is changed.
Objects that cannot be used are named as warnings on standard error.`,
		Example: `  nearside render --node-name node-a -f manifests/
  nearside render --node-name node-a -f manifests/ | nft -c -f -
  kubectl get services,endpointslices,nodes -A -o yaml | nearside render --node-name node-a -f -`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := logs.logger(cmd.ErrOrStderr(), false)
			if err != nil {
				return err
			}
			opts, err := node.options(cmd.Flags())
			if err != nil {
				return err
			}
			if opts.Source, err = files.source(cmd.InOrStdin(), log); err != nil {
				return err
			}
			line := newProgressLine(cmd.ErrOrStderr())
			defer line.clear()
			opts.Log, opts.OnProgress = log, line.show
			a, err := newAgent(opts)
			if err != nil {
				return err
			}
			text, err := a.Render(cmd.Context())
			if err != nil {
				return err
			}
			line.clear()
			_, err = io.WriteString(cmd.OutOrStdout(), text)
			return err
		},
	}
	files.add(cmd.Flags())
	node.add(cmd.Flags())
	logs.add(cmd.Flags())
	return cmd
}
