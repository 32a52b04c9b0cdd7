package examples_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// programs is the folder with the built examples.
var programs string

func TestMain(m *testing.M) {
	os.Exit(runWithPrograms(m))
}

// runWithPrograms builds all examples once, and the command that README.md
// mentions, and runs the tests.
func runWithPrograms(m *testing.M) int {
	dir, err := os.MkdirTemp("", "nearside-examples-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "make a folder for the programs:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	build := exec.Command("go", "build", "-o", dir+"/", "./...", "../cmd/nearside")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build the examples:", err)
		return 1
	}
	programs = dir
	return m.Run()
}

// result is what a program printed and how it ended.
type result struct {
	out, err string
	status   int
}

// run runs an example from the root of the repository, where its own
// documentation says to run it.
func run(t *testing.T, name string, args ...string) result {
	t.Helper()
	cmd := exec.Command(filepath.Join(programs, name), args...)
	cmd.Dir = ".."
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit, "run %s", name)
	}
	return result{out: out.String(), err: errs.String(), status: cmd.ProcessState.ExitCode()}
}

// ok runs an example that must succeed without a word of complaint.
func ok(t *testing.T, name string, args ...string) string {
	t.Helper()
	r := run(t, name, args...)
	require.Zero(t, r.status, r.err)
	require.Empty(t, r.err)
	return r.out
}

// TestEveryProgramIsInTheIndexAndTested keeps the folder, its index and its
// tests together.
func TestEveryProgramIsInTheIndexAndTested(t *testing.T) {
	mains, err := filepath.Glob("*/main.go")
	require.NoError(t, err)
	require.NotEmpty(t, mains)
	index, err := os.ReadFile("README.md")
	require.NoError(t, err)
	tests, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	var source strings.Builder
	for _, path := range tests {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		source.Write(text)
	}
	for _, path := range mains {
		name := filepath.Dir(path)
		require.FileExists(t, filepath.Join(programs, name))
		require.Contains(t, string(index), "["+name+"]("+name+")", "README.md lists every example")
		require.Contains(t, source.String(), `"`+name+`"`, "a test runs every example")

		text, err := os.ReadFile(path)
		require.NoError(t, err)
		lines := strings.Count(string(text), "\n")
		require.Less(t, lines, 150, "%s shows one idea", path)
	}
}

// TestEveryManifestIsInTheIndex does the same for the manifests.
func TestEveryManifestIsInTheIndex(t *testing.T) {
	files, err := filepath.Glob("manifests/*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	index, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, path := range files {
		name := filepath.Base(path)
		require.Contains(t, string(index), "["+name+"]("+path+")", "README.md lists every manifest")
	}
}
