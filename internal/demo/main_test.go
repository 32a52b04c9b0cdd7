package demo

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The environment in which the test binary is a process that runs the demo, to
// be interrupted by a test.
const (
	childAgent       = "DEMO_TEST_AGENT"
	childConnections = "DEMO_TEST_CONNECTIONS"
)

func TestMain(m *testing.M) {
	if agent := os.Getenv(childAgent); agent != "" {
		n, _ := strconv.Atoi(os.Getenv(childConnections))
		err := Run(context.Background(), Options{Agent: agent, Connections: n, Out: os.Stdout, Progress: os.Stderr})
		if err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
		return
	}
	status := m.Run()
	_ = os.RemoveAll(buildFolder)
	os.Exit(status)
}

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "differs from %s; with -update it is written anew", path)
}

// buildFolder holds the agent; it outlives single tests.
var buildFolder string

// agentProgram builds the real agent, once for all tests.
var agentProgram = sync.OnceValues(func() (_ string, err error) {
	if buildFolder, err = os.MkdirTemp("", "demo-test-"); err != nil {
		return "", err
	}
	path := filepath.Join(buildFolder, "nearside")
	out, err := exec.Command("go", "build", "-o", path, "github.com/nearside/nearside/cmd/nearside").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the agent: %w\n%s", err, out)
	}
	return path, nil
})

func needAgent(t *testing.T) string {
	t.Helper()
	path, err := agentProgram()
	require.NoError(t, err)
	return path
}
