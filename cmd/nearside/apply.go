package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/nearside/nearside/agent"
)

func newApplyCommand() *cobra.Command {
	var node nodeFlags
	var files fileFlags
	var logs logFlags
	cmd := &cobra.Command{
		Use:   "apply -f PATH... [flags]",
		Short: "Program the node's tables from manifests once, then exit; needs root",
		Long: `Does one round of the agent: reads the manifests, selects endpoints for the node,
compares with the tables "ip nearside" and "ip6 nearside" of the kernel, and
commits the difference in one transaction for each. The tables stay; nearside
cleanup removes them. With a malformed manifest the kernel is not touched.`,
		Example: `  nearside apply --node-name node-a --cluster-cidr 10.244.0.0/16 -f manifests/
  nearside apply -f services.yaml -f endpoints.yaml`,
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
			began := time.Now()
			r, err := a.Once(cmd.Context())
			if err != nil {
				return err
			}
			line.clear()
			_, err = fmt.Fprintln(cmd.OutOrStdout(), summary(&r, time.Since(began)))
			return err
		},
	}
	files.add(cmd.Flags())
	node.add(cmd.Flags())
	logs.add(cmd.Flags())
	return cmd
}

// summary is the one line that apply prints.
func summary(r *agent.Round, took time.Duration) string {
	return fmt.Sprintf("%s, %s, %s in %s",
		counted(r.Services, "service"), counted(r.Endpoints, "endpoint"),
		counted(r.Changes(), "change"), took.Round(time.Millisecond/10))
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
