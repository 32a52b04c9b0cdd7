package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/agent"
	"github.com/nearside/nearside/internal/netns"
)

// patienceOfTests is far more than anything here takes on a busy machine.
const patienceOfTests = 20 * time.Second

// running is a running agent.
type running struct {
	t      *testing.T
	ns     *netns.Namespace
	cmd    *exec.Cmd
	ended  chan error
	folder string

	mu   sync.Mutex
	logs bytes.Buffer
}

// startAgent runs the agent on a copy of the test cluster in a namespace.
func startAgent(t *testing.T, ns *netns.Namespace, flags ...string) *running {
	t.Helper()
	folder := copyOfCluster(t)
	args := onHostAsIs(with("run", "--manifests", folder, "--min-sync-period", "50ms", "--log-level", "debug")...)
	return started(t, ns, folder, command(t, append(args, flags...)...))
}

// started starts a command that runs the agent on a folder.
func started(t *testing.T, ns *netns.Namespace, folder string, cmd *exec.Cmd) *running {
	t.Helper()
	a := &running{t: t, ns: ns, cmd: cmd, ended: make(chan error, 1), folder: folder}
	a.cmd.Stdout, a.cmd.Stderr = a, a
	require.NoError(t, ns.Start(a.cmd))
	go func() { a.ended <- a.cmd.Wait() }()
	t.Cleanup(func() {
		_ = a.cmd.Process.Kill()
		if t.Failed() {
			t.Log(a.log())
		}
	})
	return a
}

// Write collects what the agent logs.
func (a *running) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.logs.Write(p)
}

func (a *running) log() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.logs.String()
}

// stop ends the agent in order and returns its exit status.
func (a *running) stop() int {
	a.t.Helper()
	require.NoError(a.t, a.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-a.ended:
		if err != nil {
			a.t.Log(err)
		}
	case <-time.After(patienceOfTests):
		a.t.Fatal("the agent does not end")
	}
	return a.cmd.ProcessState.ExitCode()
}

// requireTables waits until the kernel holds what render prints.
func (a *running) requireTables() {
	a.t.Helper()
	want := nearside(a.t, with("render", "-f", a.folder)...).out
	got := ""
	for end := time.Now().Add(patienceOfTests); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if got = present(a.ns); got == want {
			return
		}
	}
	require.Equal(a.t, want, got)
}

// present is what nft prints for the tables that exist, IPv4 first: without a
// table of one's choice it prints them in the order in which they were made.
func present(ns *netns.Namespace) (text string) {
	for _, family := range []string{"ip", "ip6"} {
		if out, err := ns.Command("nft", "list", "table", family, "nearside"); err == nil {
			text += out
		}
	}
	return text
}

func TestRunFollowsManifests(t *testing.T) {
	a := startAgent(t, netns.New(t))
	a.requireTables()
	edit(t, filepath.Join(a.folder, "web.yaml"), "10.244.1.10", "10.244.1.77")
	a.requireTables()
	edit(t, filepath.Join(a.folder, "web.yaml"), "PreferLocal", "Cluster")
	a.requireTables()
	edit(t, filepath.Join(a.folder, "nodes.json"), `"name": "node-a", "labels": {"topology.kubernetes.io/zone": "zone-1"}`,
		`"name": "node-a", "labels": {"topology.kubernetes.io/zone": "zone-2"}`)
	a.requireTables()
	require.NoError(t, os.Remove(filepath.Join(a.folder, "dns.yaml")))
	a.requireTables()
	require.Zero(t, a.stop())
	a.requireTables() // the tables stay
}

func TestRunKeepsTheLastGoodStateOfABrokenFile(t *testing.T) {
	a := startAgent(t, netns.New(t))
	a.requireTables()
	before := ruleset(t, a.ns)
	edit(t, filepath.Join(a.folder, "web.yaml"), "kind: Service", "kind: [Service")
	require.Eventually(t, func() bool { return bytes.Contains([]byte(a.log()), []byte("web.yaml")) }, patienceOfTests, 20*time.Millisecond)
	require.Equal(t, before, ruleset(t, a.ns))
	edit(t, filepath.Join(a.folder, "web.yaml"), "kind: [Service", "kind: Service")
	edit(t, filepath.Join(a.folder, "web.yaml"), "10.244.1.10", "10.244.1.88")
	a.requireTables()
	require.Zero(t, a.stop())
}

func TestRunRepairsWhatOthersChanged(t *testing.T) {
	a := startAgent(t, netns.New(t))
	a.requireTables()
	a.ns.Run(t, "nft", "delete", "table", "ip", "nearside")
	edit(t, filepath.Join(a.folder, "web.yaml"), "10.244.1.10", "10.244.1.77")
	a.requireTables()
	require.Contains(t, a.log(), "a partial transaction was refused, so the table was read back")

	a.ns.Run(t, "nft", "flush", "map", "ip", "nearside", "backends")
	edit(t, filepath.Join(a.folder, "web.yaml"), "10.244.1.77", "10.244.1.78")
	a.requireTables()
	require.Zero(t, a.stop())
}

func TestRestartChangesNothing(t *testing.T) {
	ns := netns.New(t)
	first := startAgent(t, ns)
	first.requireTables()
	require.Zero(t, first.stop())
	second := startAgent(t, ns)
	require.Eventually(t, func() bool {
		return bytes.Contains([]byte(second.log()), []byte("kind=full services=4 selected=4 changes=0"))
	},
		patienceOfTests, 20*time.Millisecond)
	second.requireTables()
	require.Zero(t, second.stop())
}

func TestRunServesHealthMetricsAndExplanations(t *testing.T) {
	ns := netns.New(t)
	socket := filepath.Join(t.TempDir(), "agent.sock")
	a := startAgent(t, ns, "--socket", socket)
	a.requireTables()
	for _, path := range []string{"/healthz", "/livez"} {
		status, body := httpGet(t, ns, "127.0.0.1:10256", path)
		require.Equal(t, http.StatusOK, status, "%s", body)
		var health map[string]any
		require.NoError(t, json.Unmarshal(body, &health))
		require.Equal(t, true, health["healthy"])
		require.Contains(t, health["status"], "IPv6")
	}
	status, body := httpGet(t, ns, "127.0.0.1:10249", "/metrics")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, string(body), "nearside_services 4\n")

	info, err := os.Stat(socket)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	asked := nearside(t, "explain", "--agent", socket, "shop/web")
	requireDone(t, asked)
	require.Equal(t, nearside(t, with("explain", "-f", a.folder, "shop/web")...).out, asked.out)
	missing := nearside(t, "explain", "--agent", socket, "shop/wbe")
	requireFailure(t, missing, 1, `find service "shop/wbe"`)

	second := nearsideIn(t, ns, onHostAsIs(with("run", "--manifests", a.folder, "--socket", socket, "--log-level", "error")...)...)
	requireFailure(t, second, 1, "another agent listens on it")
	requireDone(t, nearside(t, "explain", "--agent", socket, "shop/web"))

	require.Zero(t, a.stop())
	require.NoFileExists(t, socket)
}

// httpGet makes a request from within a namespace.
func httpGet(t *testing.T, ns *netns.Namespace, address, path string) (status int, body []byte) {
	t.Helper()
	ns.Must(t, func() error {
		conn, err := net.DialTimeout("tcp", address, patienceOfTests) // in this thread's namespace
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
		if err != nil {
			return err
		}
		if err := req.Write(conn); err != nil {
			return err
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), req)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		status = resp.StatusCode
		body, err = io.ReadAll(resp.Body)
		return err
	})
	return status, body
}

func TestExplainJSONOfARunningAgentIsStable(t *testing.T) {
	ns := netns.New(t)
	socket := filepath.Join(t.TempDir(), "agent.sock")
	a := startAgent(t, ns, "--socket", socket)
	a.requireTables()
	r := nearside(t, "explain", "--agent", socket, "-o", "json", "shop/web:http")
	requireDone(t, r)
	var x agent.Explanation
	require.NoError(t, json.Unmarshal([]byte(r.out), &x))
	golden(t, "explain.json", r.out)
	require.Zero(t, a.stop())
}
