package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/nearside/nearside/agent"
)

func newExplainCommand() *cobra.Command {
	var node nodeFlags
	var files fileFlags
	var logs logFlags
	var socket, output string
	cmd := &cobra.Command{
		Use:   "explain (-f PATH... | --agent SOCKET) NAMESPACE/SERVICE[:PORT]",
		Short: "Show which endpoints a service uses from a node, and why",
		Long: `Prints every endpoint of a service with its node, zone and state, whether it is
chosen for connections from this node, its weight, and the reason. PORT is the
name or the number of a service port; without it all ports are shown. Of ports
that are dialled from outside the cluster too, the answer for those connections
follows: one for everyone or, under externalTrafficPolicy Local, one for clients
outside and one for pods and this node.

The answer comes from manifests, or from a running agent that was started with
nearside run --socket SOCKET.`,
		Example: `  nearside explain --node-name node-a -f manifests/ shop/web
  nearside explain --node-name node-a -f manifests/ -o json shop/web:http
  nearside explain --agent /run/nearside.sock shop/web`,
		Args: func(_ *cobra.Command, args []string) error {
			switch len(args) {
			case 0:
				return errors.New("no service is given: expected NAMESPACE/SERVICE or NAMESPACE/SERVICE:PORT")
			case 1:
				return nil
			}
			return fmt.Errorf("unexpected argument %q", args[1])
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			target, err := agent.ParseTarget(args[0])
			if err != nil {
				return &usageError{err}
			}
			write, err := explanationWriter(output)
			if err != nil {
				return err
			}
			var x *agent.Explanation
			if socket != "" {
				if len(files.paths) > 0 {
					return usagef("flags --agent and -f exclude each other")
				}
				x, err = agent.ExplainFrom(cmd.Context(), socket, target)
			} else {
				x, err = explainFiles(cmd, &node, &files, &logs, target)
			}
			if err != nil {
				return err
			}
			return write(cmd.OutOrStdout(), x)
		},
	}
	files.add(cmd.Flags())
	cmd.Flags().StringVar(&socket, "agent", "", "socket of a running agent to ask in place of manifests")
	cmd.Flags().StringVarP(&output, "output", "o", "table", "form of the output: table, json or yaml")
	node.add(cmd.Flags())
	logs.add(cmd.Flags())
	return cmd
}

func explainFiles(cmd *cobra.Command, node *nodeFlags, files *fileFlags, logs *logFlags, target agent.Target) (*agent.Explanation, error) {
	log, err := logs.logger(cmd.ErrOrStderr(), false)
	if err != nil {
		return nil, err
	}
	opts, err := node.options(cmd.Flags())
	if err != nil {
		return nil, err
	}
	if len(files.paths) == 0 {
		return nil, usagef("nothing to explain from: give manifests with -f, or a running agent with --agent")
	}
	if opts.Source, err = files.source(cmd.InOrStdin(), log); err != nil {
		return nil, err
	}
	opts.Log = log
	a, err := newAgent(opts)
	if err != nil {
		return nil, err
	}
	if err := a.Load(cmd.Context()); err != nil {
		return nil, err
	}
	return a.Explain(cmd.Context(), target)
}

// explanationWriter returns what writes an explanation in the given form.
func explanationWriter(form string) (func(io.Writer, *agent.Explanation) error, error) {
	switch form {
	case "table":
		return func(w io.Writer, x *agent.Explanation) error { return x.WriteText(w) }, nil
	case "json":
		return func(w io.Writer, x *agent.Explanation) error { return writeJSON(w, x) }, nil
	case "yaml":
		return func(w io.Writer, x *agent.Explanation) error {
			text, err := yaml.Marshal(x)
			if err != nil {
				return err
			}
			_, err = w.Write(text)
			return err
		}, nil
	}
	return nil, usagef("flag --output: unknown form %q: expected table, json or yaml", form)
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
