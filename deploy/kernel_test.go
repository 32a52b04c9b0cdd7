package deploy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/nearside/nearside/internal/netns"
)

const soon = 20 * time.Second // far more than anything here takes

// environment is what the kubelet makes of the env of the manifest.
var environment = map[string]string{
	"NODE_NAME":               "node-a",
	"CLUSTER_CIDR":            "10.1.0.0/16",
	"KUBERNETES_SERVICE_HOST": "", // the objects come from manifests here
	"KUBERNETES_SERVICE_PORT": "",
}

// container is a container of the DaemonSet that runs in a network namespace.
type container struct {
	t    *testing.T
	ns   *netns.Namespace
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	log  *logged
}

// logged is what a program prints, to be read meanwhile.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// start runs a container of the manifest, with what its security context says,
// and with more arguments.
func start(t *testing.T, ns *netns.Namespace, c *corev1.Container, manifests string, more ...string) *container {
	t.Helper()
	setup := containerSetup{Root: t.TempDir(), Program: program, Manifests: manifests, Capabilities: capabilities(t, c)}
	setup.Privileged = setup.Capabilities == nil
	for _, e := range c.Env {
		value, ok := environment[e.Name]
		require.True(t, ok, "the test knows no value for %s", e.Name)
		setup.Env = append(setup.Env, e.Name+"="+value)
	}
	for _, arg := range append(append([]string(nil), c.Args...), more...) {
		setup.Args = append(setup.Args, expand(t, arg))
	}
	text, err := json.Marshal(setup)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)

	r := &container{t: t, ns: ns, done: make(chan struct{}), log: &logged{}}
	r.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), self)
	r.cmd.Env = []string{containerVariable + "=" + string(text)}
	r.cmd.Stdout, r.cmd.Stderr = r.log, r.log
	r.cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
	}
	require.NoError(t, ns.Start(r.cmd))
	go func() {
		_ = r.cmd.Wait()
		close(r.done)
	}()
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		<-r.done
		if t.Failed() {
			t.Logf("container %s:\n%s", c.Name, r.log)
		}
	})
	return r
}

// capabilities reads a security context; nil means all.
func capabilities(t *testing.T, c *corev1.Container) []uintptr {
	t.Helper()
	if c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged {
		return nil
	}
	require.Equal(t, []corev1.Capability{"ALL"}, c.SecurityContext.Capabilities.Drop)
	known := map[corev1.Capability]uintptr{"NET_ADMIN": unix.CAP_NET_ADMIN}
	kept := []uintptr{}
	for _, name := range c.SecurityContext.Capabilities.Add {
		number, ok := known[name]
		require.True(t, ok, "capability %s", name)
		kept = append(kept, number)
	}
	return kept
}

var variable = regexp.MustCompile(`\$\((\w+)\)`)

// expand puts the environment into an argument, as the kubelet does.
func expand(t *testing.T, arg string) string {
	t.Helper()
	return variable.ReplaceAllStringFunc(arg, func(v string) string {
		value, ok := environment[variable.FindStringSubmatch(v)[1]]
		require.True(t, ok, "the test knows no value for %s", v)
		return value
	})
}

// probe does what the kubelet does.
func (r *container) probe(p *corev1.Probe) error {
	dial := func(ctx context.Context, network, address string) (c net.Conn, err error) {
		err = r.ns.Do(func() error {
			c, err = new(net.Dialer).DialContext(ctx, network, address)
			return err
		})
		return c, err
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}, Timeout: time.Second}
	url := fmt.Sprintf("http://%s:%d%s", p.HTTPGet.Host, p.HTTPGet.Port.IntValue(), p.HTTPGet.Path)
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d, %s, %w", resp.StatusCode, text, err)
	}
	return nil
}

// eventually waits until a check succeeds, as long as the container runs.
func (r *container) eventually(check func() error) {
	r.t.Helper()
	var err error
	for end := time.Now().Add(soon); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
		select {
		case <-r.done:
			r.t.Fatalf("the container has ended: %s", r.cmd.ProcessState)
		default:
		}
	}
	require.NoError(r.t, err)
}

// listed waits until the table of IPv4 holds a text.
func (r *container) listed(text string) {
	r.t.Helper()
	r.eventually(func() error {
		out, err := r.ns.Command("nft", "list", "table", "ip", "nearside")
		if err != nil || !strings.Contains(out, text) {
			return fmt.Errorf("the table does not hold %q: %w\n%s", text, err, out)
		}
		return nil
	})
}

func (r *container) proc(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", r.cmd.Process.Pid, name))
	require.NoError(r.t, err)
	return string(text)
}

// copyOfManifests makes a folder that may be changed.
func copyOfManifests(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.CopyFS(folder, os.DirFS("testdata/manifests")))
	return folder
}

// setUp runs the init container.
func setUp(t *testing.T, ns *netns.Namespace, manifests string) {
	t.Helper()
	init := start(t, ns, &daemonSet(t).Spec.Template.Spec.InitContainers[0], manifests)
	select {
	case <-init.done:
	case <-time.After(soon):
		t.Fatal("the init container does not end")
	}
	require.True(t, init.cmd.ProcessState.Success(), "%s\n%s", init.cmd.ProcessState, init.log)
}

// TestAgentWorksInItsContainer runs the agent with what the manifest gives it:
// its arguments and environment, an empty read-only root, root's name and one
// capability. Only the API server is replaced, by manifests.
func TestAgentWorksInItsContainer(t *testing.T) {
	ns := netns.New(t)
	manifests := copyOfManifests(t)
	setUp(t, ns, manifests)
	spec := &daemonSet(t).Spec.Template.Spec.Containers[0]
	r := start(t, ns, spec, manifests, "--manifests=/manifests")

	r.listed("10.1.1.5 . 8080")
	r.eventually(func() error { return r.probe(spec.LivenessProbe) })
	r.eventually(func() error { return r.probe(spec.ReadinessProbe) })

	status := r.proc("status")
	one := fmt.Sprintf("%016x", 1<<unix.CAP_NET_ADMIN)
	for _, set := range []string{"CapPrm", "CapEff", "CapBnd"} {
		require.Contains(t, status, set+":\t"+one+"\n")
	}
	require.Contains(t, status, "NoNewPrivs:\t1\n")
	require.Regexp(t, `(?m)^\d+ \d+ \S+ / / ro\b`, r.proc("mountinfo"), "the root is read-only")

	require.NotContains(t, r.log.String(), "level=ERROR")

	// It follows what changes.
	path := filepath.Join(manifests, "web.yaml")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	next := filepath.Join(manifests, ".next")
	require.NoError(t, os.WriteFile(next, bytes.Replace(text, []byte("10.1.1.5"), []byte("10.1.1.6"), 1), 0o600))
	require.NoError(t, os.Rename(next, path))
	r.listed("10.1.1.6 . 8080")

	// It answers questions on the socket in the pod's own volume.
	socket := fmt.Sprintf("/proc/%d/root/run/nearside/agent.sock", r.cmd.Process.Pid)
	out, err := exec.CommandContext(t.Context(), program, "explain", "--agent", socket, "demo/web").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "10.1.1.6:8080")

	// Its end is a clean one, and the table stays.
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-r.done:
	case <-time.After(time.Duration(*daemonSet(t).Spec.Template.Spec.TerminationGracePeriodSeconds) * time.Second):
		t.Fatal("it does not end in time")
	}
	require.True(t, r.cmd.ProcessState.Success(), "%s", r.cmd.ProcessState)
	require.Contains(t, ns.Run(t, "nft", "list", "table", "ip", "nearside"), "10.1.1.6 . 8080")
}

// TestInitContainerIsNeeded leaves it out: the settings of a fresh namespace are
// the kernel's, and the agent may not change them.
func TestInitContainerIsNeeded(t *testing.T) {
	ns := netns.New(t)
	r := start(t, ns, &daemonSet(t).Spec.Template.Spec.Containers[0], copyOfManifests(t), "--manifests=/manifests")
	select {
	case <-r.done:
	case <-time.After(soon):
		t.Fatal("it does not end")
	}
	require.Equal(t, 1, r.cmd.ProcessState.ExitCode(), r.log.String())
	require.Contains(t, r.log.String(), "nf_conntrack_tcp_timeout_established")
	require.Contains(t, r.log.String(), "read-only file system: set it on the host beforehand")
	require.Empty(t, ns.Run(t, "nft", "list", "ruleset"))
}

// TestTheOneCapabilityIsNeeded shows that the test above can fail.
func TestTheOneCapabilityIsNeeded(t *testing.T) {
	ns := netns.New(t)
	manifests := copyOfManifests(t)
	setUp(t, ns, manifests)
	spec := daemonSet(t).Spec.Template.Spec.Containers[0].DeepCopy()
	spec.SecurityContext.Capabilities.Add = nil
	r := start(t, ns, spec, manifests, "--manifests=/manifests")
	select {
	case <-r.done:
	case <-time.After(soon):
		t.Fatal("it does not end")
	}
	require.Equal(t, 1, r.cmd.ProcessState.ExitCode(), r.log.String())
	require.Contains(t, r.log.String(), "CAP_NET_ADMIN")
	require.Empty(t, ns.Run(t, "nft", "list", "ruleset"))
}

// TestCleanupNeedsNoMoreThanItsContainer removes what the agent has left.
func TestCleanupNeedsNoMoreThanItsContainer(t *testing.T) {
	ns := netns.New(t)
	ns.Run(t, "nft", "add table ip nearside; add table ip6 nearside; add table ip filter")
	spec := load[*appsv1.DaemonSet](t, "cleanup/nearside/daemonset.yaml").Spec.Template.Spec.InitContainers[0]
	r := start(t, ns, &spec, copyOfManifests(t))
	select {
	case <-r.done:
	case <-time.After(soon):
		t.Fatal("it does not end")
	}
	require.True(t, r.cmd.ProcessState.Success(), r.log.String())
	require.Equal(t, "table ip filter {\n}\n", ns.Run(t, "nft", "list", "ruleset"))
}
