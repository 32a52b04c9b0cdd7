// Command apiserver starts and stops a real etcd and kube-apiserver on this
// machine, for work on nearside by hand. test/apiserver.sh runs it; the tests
// use package controlplane directly.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/nearside/nearside/test/cluster/binaries"
	"github.com/nearside/nearside/test/cluster/controlplane"
)

const usage = `usage: test/apiserver.sh VERB [--dir DIR]

  build    build etcd and kube-apiserver if they are not there (takes minutes)
  start    build what is missing, start both on free ports of 127.0.0.1 in the
           current network namespace, and print the kubeconfig's name
  status   tell what runs
  stop     end what start started, and remove its folder

  --dir DIR   folder for data, logs and kubeconfig (default .cache/apiserver
              in the checkout)
`

// errUsage is a wrong command line; it was explained already.
var errUsage = errors.New("wrong usage")

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	switch err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); {
	case errors.Is(err, errUsage):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "apiserver:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("apiserver", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.Usage = func() { fmt.Fprint(progress, usage) }
	dir := flags.String("dir", "", "")
	verbs := map[string]func(context.Context, string, io.Writer, io.Writer) error{
		"build": build, "start": start, "status": status, "stop": stop,
	}
	if len(args) == 0 || verbs[args[0]] == nil {
		flags.Usage()
		return errUsage
	}
	if err := flags.Parse(args[1:]); err != nil {
		return errUsage
	}
	if flags.NArg() != 0 {
		flags.Usage()
		return errUsage
	}
	if *dir == "" {
		root, err := binaries.Root()
		if err != nil {
			return err
		}
		*dir = filepath.Join(root, ".cache", "apiserver")
	}
	// The processes and later commands have to agree on it.
	var err error
	if *dir, err = filepath.Abs(*dir); err != nil {
		return err
	}
	return verbs[args[0]](ctx, *dir, out, progress)
}

func build(ctx context.Context, _ string, out, progress io.Writer) error {
	kube, err := binaries.OpenKube()
	if err != nil {
		return err
	}
	if err := kube.Build(ctx, progress, binaries.Etcd, binaries.KubeAPIServer); err != nil {
		return err
	}
	fmt.Fprintln(out, kube.Dir)
	return nil
}

func start(ctx context.Context, dir string, out, progress io.Writer) error {
	switch _, err := controlplane.Open(dir); {
	case err == nil:
		return fmt.Errorf("start in %s: already started; run test/apiserver.sh stop --dir %s first", dir, dir)
	case !errors.Is(err, controlplane.ErrNotStarted):
		return err
	}
	kube, err := binaries.OpenKube()
	if err != nil {
		return err
	}
	if err := kube.Build(ctx, progress, binaries.Etcd, binaries.KubeAPIServer); err != nil {
		return err
	}
	plane, err := controlplane.Start(ctx, controlplane.Options{Dir: dir, Binaries: kube.Dir, Detach: true})
	if err != nil {
		if _, openErr := controlplane.Open(dir); openErr == nil { // the folder is ours
			return fmt.Errorf("%w\nrun test/apiserver.sh stop --dir %s to remove the logs", err, dir)
		}
		return err
	}
	fmt.Fprintln(out, plane.API.Kubeconfig())
	return nil
}

func status(ctx context.Context, dir string, out, _ io.Writer) error {
	plane, err := controlplane.Open(dir)
	if err != nil {
		return fmt.Errorf("%w; run test/apiserver.sh start --dir %s", err, dir)
	}
	healthy := true
	for _, part := range plane.Status(ctx) {
		word := "ready"
		switch {
		case !part.Running:
			word = "not running"
		case part.Problem != nil:
			word = fmt.Sprintf("not ready: %v", part.Problem)
		}
		healthy = healthy && part.Running && part.Problem == nil
		fmt.Fprintf(out, "%s (process %d): %s\n", part.Name, part.PID, word)
	}
	if !healthy {
		return fmt.Errorf("not all is ready; run test/apiserver.sh stop --dir %s and start again", dir)
	}
	fmt.Fprintf(out, "kubeconfig: %s\n", plane.API.Kubeconfig())
	return nil
}

func stop(ctx context.Context, dir string, _, progress io.Writer) error {
	plane, err := controlplane.Open(dir)
	if errors.Is(err, controlplane.ErrNotStarted) {
		fmt.Fprintf(progress, "nothing to stop in %s\n", dir)
		return nil
	}
	if err != nil {
		return err
	}
	return plane.Stop(ctx)
}
