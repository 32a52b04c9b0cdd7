package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/nearside/nearside/test/cluster/child"
)

const (
	tokenFile             = "tokens.csv"
	serviceAccountKeyFile = "service-account.key"

	// readyTimeout is how long a program may take to become ready: some ten
	// times what an idle machine needs.
	readyTimeout = 90 * time.Second
	// stopGrace is the time from SIGTERM to SIGKILL.
	stopGrace = 15 * time.Second
)

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// Options say how to run a control plane.
type Options struct {
	// Dir is the folder for everything the control plane writes. It must not
	// exist or be empty; Stop removes it.
	Dir string
	// Binaries is the folder that has etcd and kube-apiserver.
	Binaries string
	// Bind is the address that the API server listens on, and the one in the
	// kubeconfig; the zero value means 127.0.0.1.
	Bind netip.Addr
	// ServiceRanges are the ranges of cluster IPs, separated by a comma; empty
	// means dual stack, 10.96.0.0/12 first.
	ServiceRanges string
	// APIServerFlags are added to those that every kube-apiserver here gets.
	APIServerFlags []string
	// Detach lets the processes outlive the caller. A later process finds them
	// with Open(Dir).
	Detach bool
}

// ControlPlane is a running etcd with a kube-apiserver. Its methods must not be
// called concurrently.
type ControlPlane struct {
	// API is the API server that Start started.
	API *APIServer

	options Options
	token   string
	ports   ports
	etcd    *child.Process
	peer    *APIServer
}

// ports are those that this control plane listens on.
type ports struct {
	Etcd, EtcdPeer, API, Peer int
}

// Start starts etcd and a kube-apiserver and waits until they are ready. When
// it fails, nothing is left behind but the folder with the logs.
func Start(ctx context.Context, options Options) (*ControlPlane, error) {
	if !options.Bind.IsValid() {
		options.Bind = loopback
	}
	if options.ServiceRanges == "" {
		options.ServiceRanges = "10.96.0.0/12,fd00:10:96::/112"
	}
	c := &ControlPlane{options: options}
	c.API = &APIServer{plane: c, name: "kube-apiserver"}
	c.peer = &APIServer{plane: c, name: "kube-apiserver-peer"}
	if err := c.prepare(); err != nil {
		return nil, fmt.Errorf("start a control plane in %s: %w", options.Dir, err)
	}
	if err := c.start(ctx); err != nil {
		// The processes must end even if it was ctx that ended the start.
		return nil, fmt.Errorf("start a control plane in %s: %w", options.Dir,
			errors.Join(err, c.stopProcesses(context.WithoutCancel(ctx))))
	}
	return c, nil
}

// prepare makes the folder and everything that stays the same over restarts.
func (c *ControlPlane) prepare() error {
	if err := os.MkdirAll(c.options.Dir, 0o750); err != nil {
		return err
	}
	entries, err := os.ReadDir(c.options.Dir)
	if err != nil {
		return err
	}
	if len(entries) != 0 {
		return errors.New("the folder is not empty; choose another one, or stop what runs there")
	}
	if c.token, err = writeCredentials(c.options.Dir); err != nil {
		return err
	}
	if err := c.choosePorts(); err != nil {
		return err
	}
	// From here on the folder is known as ours, and Stop may remove it.
	return c.remember()
}

// choosePorts takes ports that are free now. Another process may take one
// before it is used; the program then says so and the start fails.
func (c *ControlPlane) choosePorts() error {
	for _, choice := range []struct {
		port *int
		host netip.Addr
	}{
		{&c.ports.Etcd, loopback}, {&c.ports.EtcdPeer, loopback},
		{&c.ports.API, c.options.Bind}, {&c.ports.Peer, c.options.Bind},
	} {
		listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(choice.host, 0)))
		if err != nil {
			return fmt.Errorf("find a free port on %s: %w", choice.host, err)
		}
		// Held until all are chosen, so that they differ.
		defer listener.Close()
		address, err := netip.ParseAddrPort(listener.Addr().String())
		if err != nil {
			return fmt.Errorf("find a free port on %s: %w", choice.host, err)
		}
		*choice.port = int(address.Port())
	}
	c.API.port, c.peer.port = c.ports.API, c.ports.Peer
	return nil
}

func (c *ControlPlane) start(ctx context.Context) error {
	if err := c.startEtcd(ctx); err != nil {
		return err
	}
	return c.API.Start(ctx)
}

// StartPeer starts a second API server on the same etcd, at another address.
// Changes made through it while API is down are those that API's clients miss.
// Stop it with its own method Stop, or with the control plane's.
func (c *ControlPlane) StartPeer(ctx context.Context) (*APIServer, error) {
	return c.peer, c.peer.Start(ctx)
}

// Stop ends all processes of the control plane and removes its folder.
func (c *ControlPlane) Stop(ctx context.Context) error {
	if err := c.stopProcesses(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(c.options.Dir); err != nil {
		return fmt.Errorf("remove the folder of the control plane: %w", err)
	}
	return nil
}

// stopProcesses ends the API servers before their etcd.
func (c *ControlPlane) stopProcesses(ctx context.Context) error {
	errs := []error{c.API.Stop(ctx), c.peer.Stop(ctx)}
	if c.etcd != nil {
		errs = append(errs, c.etcd.End(ctx, syscall.SIGTERM, stopGrace))
	}
	return errors.Join(errs...)
}

// Dir returns the folder of the control plane, which has the logs.
func (c *ControlPlane) Dir() string { return c.options.Dir }

func (c *ControlPlane) stateFile() string { return filepath.Join(c.options.Dir, "state.json") }

// waitReady waits until a program says that it is ready.
func waitReady(ctx context.Context, p *child.Process, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return p.WaitReady(ctx, ready)
}
