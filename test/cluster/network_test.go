package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// podCIDR holds the addresses of the pods of this node, podAddresses. They are
// addresses of the namespace itself: a pod needs no namespace of its own to be
// told from another one.
const podCIDR = "10.244.0.0/16"

var podAddresses = []string{"10.244.1.10", "10.244.1.11", "10.244.1.12"}

var networkIsUp bool

// setUpNetwork gives the test namespace what a node has: an interface that is
// up, with the pods' addresses, and a default route, without which the kernel
// refuses a connection to a cluster IP before any rule has seen it. All tests
// share the namespace.
func setUpNetwork(t *testing.T) {
	t.Helper()
	if networkIsUp {
		return
	}
	networkIsUp = true
	commands := [][]string{
		{"link", "set", "lo", "up"},
		{"link", "add", "uplink", "type", "veth", "peer", "name", "far-end"},
		{"link", "set", "uplink", "up"},
		{"link", "set", "far-end", "up"},
		{"address", "add", "192.168.77.1/24", "dev", "uplink"},
		{"address", "add", "fd00:77::1/64", "dev", "uplink", "nodad"},
		{"route", "add", "default", "via", "192.168.77.2"},
		{"route", "add", "default", "via", "fd00:77::2"},
	}
	for _, address := range podAddresses {
		commands = append(commands, []string{"address", "add", address + "/32", "dev", "uplink"})
	}
	for _, args := range commands {
		runTool(t, "iproute2", "ip", args...)
	}
}

// runTool runs a program of a Debian package and returns its output.
func runTool(t *testing.T, debianPackage, name string, args ...string) []byte {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is not installed; run apt-get install %s", name, debianPackage)
	}
	out, err := exec.CommandContext(t.Context(), path, args...).Output()
	if err != nil {
		var why []byte
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			why = exit.Stderr
		}
		t.Fatalf("run %s %q: %v: %s", name, args, err, why)
	}
	return out
}

// servePods listens on the port of every pod address; each answers a connection
// with its own address.
func servePods(t *testing.T, port int) {
	t.Helper()
	for _, address := range podAddresses {
		listener, err := net.Listen("tcp", net.JoinHostPort(address, fmt.Sprint(port)))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, listener.Close()) })
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return // closed by the clean-up
				}
				_, _ = io.WriteString(conn, address) // the client sees what is missing
				_ = conn.Close()
			}
		}()
	}
}

// dial connects to a service and returns the address of the pod that answered.
func dial(ctx context.Context, service string) (pod string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", service)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	return string(answer), err
}

// traffic connects to a service again and again.
type traffic struct {
	connections, failures atomic.Int64

	mu      sync.Mutex
	example error          // of the failures
	pods    map[string]int // connections that each pod answered

	stop context.CancelFunc
	done chan struct{}
}

// startTraffic opens a connection to the service every few milliseconds until
// the test ends.
func startTraffic(t *testing.T, service string) *traffic {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	f := &traffic{pods: map[string]int{}, stop: stop, done: make(chan struct{})}
	t.Cleanup(f.end)
	go func() {
		defer close(f.done)
		for ticker := time.Tick(5 * time.Millisecond); ctx.Err() == nil; <-ticker {
			f.connect(service)
		}
	}()
	return f
}

func (f *traffic) connect(service string) {
	pod, err := dial(context.Background(), service)
	f.connections.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.failures.Add(1)
		f.example = err
		return
	}
	f.pods[pod]++
}

// end stops the traffic after the connection that is under way.
func (f *traffic) end() {
	f.stop()
	<-f.done
}

// requireNoFailures checks that there was traffic, to every pod, and that all
// of it was answered.
func (f *traffic) requireNoFailures(t *testing.T) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	require.Zero(t, f.failures.Load(), "failed connections of %d, for instance: %v", f.connections.Load(), f.example)
	require.Len(t, f.pods, len(podAddresses), "every pod must have had connections: %v", f.pods)
}
