package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The exit statuses of every command.
const (
	statusDone   = 0
	statusFailed = 1
	statusUsage  = 2
)

// run carries out one command line and returns the exit status. Errors become
// one line on standard error. The first interrupt or SIGTERM asks the command to
// end in an orderly way, the second ends it.
func run(args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	root := newRootCommand()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return statusDone
	}
	status := statusFailed
	message := oneLine(describe(err))
	if _, ok := errors.AsType[*usageError](err); ok {
		status = statusUsage
		message += fmt.Sprintf("; see '%s --help'", cmd.CommandPath())
	}
	fmt.Fprintln(errOut, "nearside: "+message)
	return status
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "nearside",
		Short: "Service proxy for Kubernetes nodes that selects endpoints by policy",
		Long: `nearside decides, on every node, which endpoints of a Kubernetes Service a new
connection may go to, and compiles that decision into nftables data that the
kernel swaps in atomically.

Exit status: 0 done; 1 failed, with one line on standard error; 2 wrong usage.`,
		Args:              commandArgs,
		RunE:              func(*cobra.Command, []string) error { return usagef("no command is given") },
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.AddCommand(newRunCommand(), newApplyCommand(), newRenderCommand(), newExplainCommand(),
		newCleanupCommand(), newDemoCommand(), newVersionCommand())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		c.Flags().SortFlags = false
		c.DisableFlagsInUseLine = true
	}
	checkHelpTopics(root)
	argsAreUsage(root)
	return root
}

// checkHelpTopics makes "nearside help X" an error for an X that is no command.
func checkHelpTopics(root *cobra.Command) {
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		return
	}
	help.Args = func(_ *cobra.Command, args []string) error {
		if _, rest, err := root.Find(args); err != nil || len(rest) > 0 {
			return fmt.Errorf("unknown help topic %q", strings.Join(args, " "))
		}
		return nil
	}
}

// argsAreUsage makes errors about arguments usage errors, those of cobra's own
// commands included.
func argsAreUsage(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return &usageError{err}
			}
			return nil
		}
	}
	for _, c := range cmd.Commands() {
		argsAreUsage(c)
	}
}

// commandArgs refuses arguments of the root command: they are unknown commands.
func commandArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	message := fmt.Sprintf("unknown command %q", args[0])
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		message += fmt.Sprintf(", perhaps %q is meant", near[0])
	}
	return errors.New(message)
}

// usageError is an error of whoever wrote the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// noArgs refuses arguments of commands that have none.
func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q", args[0])
	}
	return nil
}

// oneLine joins the lines of a message.
func oneLine(s string) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "; ")
}

// given reports whether any of the flags was given.
func given(flags *pflag.FlagSet, names ...string) bool {
	return slices.ContainsFunc(names, flags.Changed)
}
