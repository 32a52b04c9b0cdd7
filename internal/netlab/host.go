package netlab

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// Host is one network namespace of a lab. Its methods may be called from many
// goroutines at once, until the lab is closed.
type Host struct {
	// Name is the host's name within the lab.
	Name string
	// Namespace is the name that "ip netns" knows the host by.
	Namespace string

	lab *Lab
	ns  *os.File // keeps the namespace, and shows that its lab is alive
}

// Do runs fn on a thread that is in the host's namespace. Sockets made by fn
// stay in that namespace and may be used anywhere. fn must not start goroutines
// that make sockets, for they run on other threads. Do returns when fn has; a
// panic of fn is returned as an error.
func (h *Host) Do(fn func() error) error {
	err := onThread(func() error { return setNamespace(h.ns) }, fn)
	if err != nil {
		return fmt.Errorf("%s: %w", h.Name, err)
	}
	return nil
}

// IP runs the commands of the batch in the host's namespace.
func (h *Host) IP(ctx context.Context, b *Batch) error {
	return h.Do(func() error { return b.run(ctx, h.lab.ip, false) })
}

// Sysctl sets a value below net., for instance "net.ipv4.ip_forward".
func (h *Host) Sysctl(key, value string) error {
	if !strings.HasPrefix(key, "net.") {
		return fmt.Errorf("set sysctl %q in %s: only those below net. belong to a network namespace", key, h.Name)
	}
	path := filepath.Join("/proc/sys", filepath.Join(strings.Split(key, ".")...))
	// The kernel looks the file up in the namespace of the thread that opens it.
	return h.Do(func() error { return os.WriteFile(path, []byte(value), 0) })
}

// Listen is net.Listen in the host's namespace.
func (h *Host) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	var l net.Listener
	err := h.Do(func() (err error) {
		var config net.ListenConfig
		l, err = config.Listen(ctx, network, address)
		return err
	})
	return l, err
}
