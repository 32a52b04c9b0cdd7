package demo

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/internal/netlab"
	"github.com/nearside/nearside/internal/netns"
)

func ownPID() string { return strconv.Itoa(os.Getpid()) }

// child is a demo in a process of its own.
type child struct {
	cmd    *exec.Cmd
	pid    string
	stdout io.ReadCloser
	stderr *bufio.Reader
}

// startChild starts a demo that would take long.
func startChild(t *testing.T) *child {
	t.Helper()
	netns.RequireRoot(t)
	c := &child{cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(os.Environ(), childAgent+"="+needAgent(t), childConnections+"=100000")
	var err error
	c.stdout, err = c.cmd.StdoutPipe()
	require.NoError(t, err)
	stderr, err := c.cmd.StderrPipe()
	require.NoError(t, err)
	c.stderr = bufio.NewReader(stderr)
	require.NoError(t, c.cmd.Start())
	c.pid = strconv.Itoa(c.cmd.Process.Pid)
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	return c
}

// until reads the progress up to a line that contains text.
func (c *child) until(t *testing.T, text string) {
	t.Helper()
	for {
		line, err := c.stderr.ReadString('\n')
		require.NoError(t, err, "waiting for %q, the last line was %q", text, line)
		if strings.Contains(line, text) {
			return
		}
	}
}

// wait returns the rest of what the child says and how it ended.
func (c *child) wait(t *testing.T) (rest string, err error) {
	t.Helper()
	go io.Copy(io.Discard, c.stdout) //nolint:errcheck // until it ends
	b, err := io.ReadAll(c.stderr)
	require.NoError(t, err)
	return string(b), c.cmd.Wait()
}

func TestDemoInterrupted(t *testing.T) {
	netns.RequireRoot(t)
	tests := []struct {
		name   string
		after  string // a line of the progress
		signal syscall.Signal
	}{
		{name: "while the cluster is built", after: "building", signal: syscall.SIGINT},
		{name: "while agents start", after: "starting the agents", signal: syscall.SIGTERM},
		{name: "while connections run", after: "policy Cluster", signal: syscall.SIGINT},
		{name: "by a terminal that is closed", after: "policy Cluster", signal: syscall.SIGHUP},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			c := startChild(t)
			c.until(t, tc.after)
			time.Sleep(100 * ms) // somewhere in the middle
			require.NoError(t, c.cmd.Process.Signal(tc.signal))
			began := time.Now()
			rest, err := c.wait(t)
			require.Less(t, time.Since(began), 10*time.Second)
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit)
			require.Equal(t, 1, exit.ExitCode(), rest)
			require.Contains(t, rest, "the demo was interrupted ("+tc.signal.String()+"); all that it had made is removed")
			requireNothingLeft(t, c.pid)
		})
	}
}

func TestDemoWhoseReaderHasGone(t *testing.T) {
	c := startChild(t)
	require.NoError(t, c.stdout.Close())
	rest, err := c.wait(t)
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 1, exit.ExitCode(), rest)
	requireNothingLeft(t, c.pid)
}

func TestDemoKilled(t *testing.T) {
	c := startChild(t)
	c.until(t, "policy Cluster")
	require.NotEmpty(t, agentsOf(t, c.pid), "agents run")
	require.NoError(t, c.cmd.Process.Kill())
	_, _ = c.wait(t)
	require.Eventually(t, func() bool { return len(agentsOf(t, c.pid)) == 0 }, 5*time.Second, 10*ms,
		"agents end with the process that started them")
	require.NotEmpty(t, leftNamespaces(t, c.pid), "a killed process cannot clean up")

	lab, err := netlab.New(t.Context(), netlab.Options{Name: labName})
	require.NoError(t, err)
	require.NoError(t, lab.Close())
	require.Empty(t, leftNamespaces(t, c.pid), "the next demo does")
	require.NoError(t, removeFolders(os.TempDir()))
	folders, err := filepath.Glob(filepath.Join(os.TempDir(), labName+"-"+c.pid+"-*"))
	require.NoError(t, err)
	require.Empty(t, folders)
}
