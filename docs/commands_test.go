package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// harmless are the subcommands that only read files and print, so that the text
// can be taken at its word. Of the others the flags are checked.
var harmless = []string{"render", "explain", "version"}

var flagPattern = regexp.MustCompile(`(?:^|\s)(--[a-z-]+)`)

func TestCommandsInTheTextWork(t *testing.T) {
	checked := 0
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if b.language != "sh" {
				continue
			}
			for line := range strings.Lines(b.text) {
				command, _, _ := strings.Cut(strings.TrimSpace(line), "#")
				command, _, _ = strings.Cut(command, "|")
				if !strings.HasPrefix(command, "bin/nearside ") {
					continue
				}
				checked++
				subcommand := strings.Fields(command)[1]
				if slices.Contains(harmless, subcommand) {
					require.NotEmpty(t, run(t, command), "%s in %s", command, p.path)
					continue
				}
				help := run(t, "bin/nearside "+subcommand+" --help")
				for _, flag := range firstGroups(flagPattern, command) {
					require.Contains(t, help, flag+" ", "%s in %s", command, p.path)
				}
			}
		}
	}
	require.Greater(t, checked, 3, "the pattern for commands finds too few of them")
}

// run runs a command line that begins with bin/nearside at the top of the
// repository and returns what it prints.
func run(t *testing.T, line string) string {
	t.Helper()
	words := strings.Fields(line)
	require.Equal(t, "bin/nearside", words[0], "only this program can be run from the text")
	cmd := exec.CommandContext(t.Context(), binary(t), words[1:]...)
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err, line)
	return string(out)
}

var built struct {
	once sync.Once
	path string
	err  error
	out  []byte
}

// binary returns the path of bin/nearside built from this tree.
func binary(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		built.path = filepath.Join(buildDir, "nearside")
		cmd := exec.Command("go", "build", "-buildvcs=false", "-o", built.path, "./cmd/nearside")
		cmd.Dir = root
		built.out, built.err = cmd.CombinedOutput()
	})
	require.NoError(t, built.err, string(built.out))
	return built.path
}

// buildDir holds the built program as long as the tests run.
var buildDir string

func TestMain(m *testing.M) {
	os.Exit(withBuildDir(m))
}

func withBuildDir(m *testing.M) int {
	dir, err := os.MkdirTemp("", "nearside-docs-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	buildDir = dir
	return m.Run()
}
