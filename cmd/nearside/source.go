package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nearside/nearside/informer"
)

// sourceFlags say where the running agent gets its objects from.
type sourceFlags struct {
	kubeconfig string
	qps        float32
	burst      int
	manifests  []string
}

func (f *sourceFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "file that says how to reach the API server; empty in a pod means its service account")
	flags.Float32Var(&f.qps, "kube-api-qps", 5, "requests per second to the API server")
	flags.IntVar(&f.burst, "kube-api-burst", 10, "requests to the API server in a burst")
	flags.StringArrayVar(&f.manifests, "manifests", nil,
		"folder or file of YAML or JSON manifests to follow in place of an API server; may be repeated")
}

// source makes the source that the flags ask for.
func (f *sourceFlags) source(stdin io.Reader, log *slog.Logger) (informer.Source, error) {
	switch {
	case len(f.manifests) > 0 && f.kubeconfig != "":
		return nil, usagef("flags --kubeconfig and --manifests exclude each other")
	case f.qps <= 0 || f.burst < 1:
		return nil, usagef("flags --kube-api-qps and --kube-api-burst have to be positive")
	case len(f.manifests) > 0:
		return &informer.Manifests{Paths: f.manifests, Stdin: stdin, Log: log}, nil
	}
	config, err := f.restConfig()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = f.qps, f.burst
	config.UserAgent = "nearside/" + readVersion().Version
	k, err := informer.NewKubernetes(config)
	if err != nil {
		return nil, err
	}
	k.Log = log
	return k, nil
}

func (f *sourceFlags) restConfig() (*rest.Config, error) {
	if f.kubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", f.kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("read kubeconfig %q: %w", f.kubeconfig, err)
		}
		return config, nil
	}
	if os.Getenv("KUBERNETES_SERVICE_HOST") == "" {
		return nil, usagef("nothing to follow: give --kubeconfig or --manifests, or run in a pod of the cluster")
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("use the pod's service account: %w", err)
	}
	return config, nil
}

// fileFlags are the flags of commands that read manifests once.
type fileFlags struct {
	paths     []string
	recursive bool
}

func (f *fileFlags) add(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&f.paths, "filename", "f", nil,
		"file or folder of YAML or JSON manifests, or - for standard input; may be repeated")
	flags.BoolVarP(&f.recursive, "recursive", "R", false, "look into the folders of folders too")
}

func (f *fileFlags) source(stdin io.Reader, log *slog.Logger) (informer.Source, error) {
	if len(f.paths) == 0 {
		return nil, usagef("no manifests are given: name a file, a folder or - with -f")
	}
	return &informer.Manifests{Paths: f.paths, Recursive: f.recursive, Stdin: stdin, Log: log}, nil
}
