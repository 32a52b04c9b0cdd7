package examples_test

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheCommandsOfTheIndexWork runs every command of README.md, from the root
// of the repository. In place of "go run" it takes the programs that are built
// already, because linking them all once more takes half a minute.
func TestTheCommandsOfTheIndexWork(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	commands, inside := 0, false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			inside = !inside
			continue
		}
		if !inside || line == "" {
			continue
		}
		commands++
		t.Run(line, func(t *testing.T) {
			words := strings.Fields(line)
			require.Equal(t, []string{"go", "run"}, words[:2])
			cmd := exec.Command(filepath.Join(programs, path.Base(words[2])), words[3:]...)
			cmd.Dir = ".."
			var errs strings.Builder
			cmd.Stderr = &errs
			out, err := cmd.Output()
			require.NoError(t, err, errs.String())
			require.NotEmpty(t, out)
		})
	}
	require.Positive(t, commands, "README.md has commands in fenced blocks")
}
