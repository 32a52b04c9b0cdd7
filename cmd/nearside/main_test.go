package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/internal/netns"
)

var update = flag.Bool("update", false, "write the golden files anew")

// binary is the real program, built once.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	folder, err := os.MkdirTemp("", "nearside-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(folder) }()
	// Another user runs it too.
	if err := os.Chmod(folder, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	binary = filepath.Join(folder, "nearside")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil { //nolint:noctx // the test's own limit is enough
		fmt.Fprintf(os.Stderr, "build the program under test: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// result is what one run of the program came to.
type result struct {
	status      int
	out, errOut string
}

// nearside runs the program to its end.
func nearside(t *testing.T, args ...string) result {
	t.Helper()
	return finish(t, command(t, args...), (*exec.Cmd).Run)
}

// nearsideIn runs the program to its end in a network namespace.
func nearsideIn(t *testing.T, ns *netns.Namespace, args ...string) result {
	t.Helper()
	return finish(t, command(t, args...), func(c *exec.Cmd) error { return ns.Do(c.Run) })
}

func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(os.Environ(), "KUBERNETES_SERVICE_HOST=")
	return cmd
}

func finish(t *testing.T, cmd *exec.Cmd, run func(*exec.Cmd) error) result {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := run(cmd)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{status: cmd.ProcessState.ExitCode(), out: out.String(), errOut: errOut.String()}
}

// nearsideReading runs the program with text on standard input.
func nearsideReading(t *testing.T, in io.Reader, args ...string) result {
	t.Helper()
	cmd := command(t, args...)
	cmd.Stdin = in
	return finish(t, cmd, (*exec.Cmd).Run)
}

// requireFailure checks the status and that there is exactly one line on
// standard error, which says the given words, and nothing on standard output.
func requireFailure(t *testing.T, r result, status int, words ...string) {
	t.Helper()
	require.Equal(t, status, r.status, r.errOut)
	require.Empty(t, r.out)
	require.Equal(t, 1, strings.Count(r.errOut, "\n"), r.errOut)
	require.True(t, strings.HasPrefix(r.errOut, "nearside: "), r.errOut)
	for _, w := range words {
		require.Contains(t, r.errOut, w)
	}
}

// requireDone checks that the program did what it should.
func requireDone(t *testing.T, r result) {
	t.Helper()
	require.Zero(t, r.status, r.errOut)
}

// golden compares text with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -update to make the golden file")
	require.Equal(t, string(want), got)
}
