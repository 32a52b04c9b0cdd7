package child_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/test/cluster/child"
)

func start(t *testing.T, script string) *child.Process {
	t.Helper()
	p, err := child.Start(child.Options{Log: filepath.Join(t.TempDir(), "log")}, "/bin/sh", "-c", script)
	require.NoError(t, err)
	return p
}

func TestEndKillsWhatDoesNotEndByItself(t *testing.T) {
	p := start(t, `trap "" TERM; echo ready; while :; do sleep 0.1; done`)
	require.NoError(t, p.WaitReady(t.Context(), func(context.Context) error {
		if !strings.Contains(p.Explain(os.ErrExist).Error(), "ready") {
			return os.ErrNotExist
		}
		return nil
	}))
	require.True(t, p.Running())
	require.NoError(t, p.End(t.Context(), syscall.SIGTERM, 200*time.Millisecond))
	require.False(t, p.Running())
	require.NoError(t, p.End(t.Context(), syscall.SIGTERM, time.Second), "ending it again is no error")
}

func TestWaitReadyTellsTheLastWordsOfWhatEnded(t *testing.T) {
	p := start(t, `echo "no such flag" >&2; exit 1`)
	err := p.WaitReady(t.Context(), func(context.Context) error { return os.ErrNotExist })
	require.ErrorContains(t, err, "it ended")
	require.ErrorContains(t, err, "no such flag")
}

func TestFoundProcessIsTheOneThatWasStarted(t *testing.T) {
	p := start(t, "exec sleep 60")
	found := child.Find("sleep", "", p.ID)
	require.True(t, found.Running())

	reused := child.Find("sleep", "", child.ID{PID: p.ID.PID, Started: p.ID.Started + "0"})
	require.False(t, reused.Running(), "a process with the same number and another start time is another one")
	require.NoError(t, reused.End(t.Context(), syscall.SIGKILL, time.Second))
	require.True(t, p.Running(), "and must be left alone")

	require.NoError(t, found.End(t.Context(), syscall.SIGTERM, time.Second))
	require.False(t, p.Running())
}

// TestChildEndsWithItsParent runs this test program as a parent that is killed
// without a chance to end its child.
func TestChildEndsWithItsParent(t *testing.T) {
	const variable = "NEARSIDE_TEST_PARENT"
	if os.Getenv(variable) != "" {
		p := start(t, "exec sleep 60")
		_, _ = os.Stdout.WriteString(strconv.Itoa(p.ID.PID) + "\n")
		time.Sleep(time.Minute)
		return
	}
	parent := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	parent.Env = append(os.Environ(), variable+"=1")
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	line := make([]byte, 32)
	n, err := out.Read(line)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, 0), "the child must run before its parent is killed")

	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait() // it was killed
	require.Eventually(t, func() bool {
		state, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err != nil || strings.Contains(string(state), ") Z ")
	}, 5*time.Second, 10*time.Millisecond)
}
