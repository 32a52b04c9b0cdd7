package controlplane

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nearside/nearside/test/cluster/child"
)

// APIServer is one kube-apiserver in front of the control plane's etcd. Its
// methods must not be called concurrently.
type APIServer struct {
	plane *ControlPlane
	name  string // of its files in the folder of the control plane
	port  int
	proc  *child.Process
}

// Kubeconfig returns the file that clients use to reach this API server.
func (s *APIServer) Kubeconfig() string { return s.file(".kubeconfig") }

// Log returns the file that has the API server's output, over all its starts.
func (s *APIServer) Log() string { return s.file(".log") }

func (s *APIServer) file(suffix string) string {
	return filepath.Join(s.plane.options.Dir, s.name+suffix)
}

// Config returns a client configuration for this API server, without limits on
// the rate of requests.
func (s *APIServer) Config() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.Kubeconfig(), err)
	}
	config.QPS = -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return config, nil
}

// Start starts the API server and waits until it says that it is ready. After
// Stop or Kill it comes back at the same address with the same certificate.
func (s *APIServer) Start(ctx context.Context) error {
	if s.proc != nil && s.proc.Running() {
		return nil
	}
	var err error
	s.proc, err = child.Start(child.Options{Log: s.Log(), Detach: s.plane.options.Detach},
		filepath.Join(s.plane.options.Binaries, "kube-apiserver"), s.flags()...)
	if err != nil {
		return err
	}
	if err := s.plane.remember(); err != nil {
		return err
	}
	return waitReady(ctx, s.proc, s.ready)
}

// Kill ends the API server without any goodbye to its clients, as a crash of
// its machine would. The wait ends when the process is gone.
func (s *APIServer) Kill(ctx context.Context) error {
	return s.end(ctx, syscall.SIGKILL)
}

// Stop asks the API server to end and waits for that.
func (s *APIServer) Stop(ctx context.Context) error {
	return s.end(ctx, syscall.SIGTERM)
}

func (s *APIServer) end(ctx context.Context, signal syscall.Signal) error {
	if s.proc == nil {
		return nil
	}
	return s.proc.End(ctx, signal, stopGrace)
}

func (s *APIServer) flags() []string {
	dir, options := s.plane.options.Dir, s.plane.options
	key := filepath.Join(dir, serviceAccountKeyFile)
	return append([]string{
		"--etcd-servers=" + s.plane.etcdURL(),
		"--service-cluster-ip-range=" + options.ServiceRanges,
		"--bind-address=" + options.Bind.String(),
		"--secure-port=" + strconv.Itoa(s.port),
		// Documentation address (RFC 5737): the flag is required where no
		// default route tells one, must not be loopback, and nothing reads it
		// as long as the server does not register itself as an endpoint.
		"--advertise-address=192.0.2.1",
		"--endpoint-reconciler-type=none",
		"--cert-dir=" + filepath.Join(dir, s.name+".certificates"),
		"--token-auth-file=" + filepath.Join(dir, tokenFile),
		"--authorization-mode=AlwaysAllow",
		"--disable-admission-plugins=ServiceAccount",
		"--service-account-issuer=https://" + serverName,
		"--service-account-key-file=" + key,
		"--service-account-signing-key-file=" + key,
		"--v=1",
	}, options.APIServerFlags...)
}

// ready asks the API server whether it is ready, and writes the kubeconfig when
// it has made its certificate.
func (s *APIServer) ready(ctx context.Context) error {
	certificate := filepath.Join(s.file(".certificates"), "apiserver.crt")
	if _, err := os.Stat(s.Kubeconfig()); err != nil {
		host := net.JoinHostPort(s.plane.options.Bind.String(), strconv.Itoa(s.port))
		if err := writeKubeconfig(s.Kubeconfig(), "https://"+host, certificate, s.plane.token); err != nil {
			return err
		}
	}
	config, err := s.Config()
	if err != nil {
		return err
	}
	config.Timeout = 5 * time.Second
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client of the API server: %w", err)
	}
	if _, err := client.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err != nil {
		return fmt.Errorf("ask the API server whether it is ready: %w", err)
	}
	return nil
}
