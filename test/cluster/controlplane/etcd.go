package controlplane

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"

	"github.com/nearside/nearside/test/cluster/child"
)

func (c *ControlPlane) etcdURL() string {
	return fmt.Sprintf("http://127.0.0.1:%d", c.ports.Etcd)
}

func (c *ControlPlane) etcdLog() string { return filepath.Join(c.options.Dir, "etcd.log") }

// startEtcd starts a single etcd member and waits until it is healthy.
func (c *ControlPlane) startEtcd(ctx context.Context) error {
	peer := fmt.Sprintf("http://127.0.0.1:%d", c.ports.EtcdPeer)
	var err error
	c.etcd, err = child.Start(child.Options{Log: c.etcdLog(), Detach: c.options.Detach},
		filepath.Join(c.options.Binaries, "etcd"),
		"--name=default",
		"--data-dir="+filepath.Join(c.options.Dir, "etcd"),
		"--listen-client-urls="+c.etcdURL(),
		"--advertise-client-urls="+c.etcdURL(),
		"--listen-peer-urls="+peer,
		"--initial-advertise-peer-urls="+peer,
		"--initial-cluster=default="+peer,
		"--log-level=warn",
		// The data need not outlive the machine, and waiting for the disk is
		// most of the time of a write.
		"--unsafe-no-fsync",
	)
	if err != nil {
		return err
	}
	if err := c.remember(); err != nil {
		return err
	}
	return waitReady(ctx, c.etcd, c.etcdReady)
}

func (c *ControlPlane) etcdReady(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.etcdURL()+"/health", nil)
	if err != nil {
		return fmt.Errorf("ask etcd whether it is healthy: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask etcd whether it is healthy: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("ask etcd whether it is healthy: %s: %s", response.Status, body)
	}
	return nil
}
