package deploy_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the top of the repository, as seen from the folder of this test.
const root = ".."

// program is nearside, built as the Containerfile builds it.
var program string

// TestMain builds the program once. It is also what the tests start in place of
// a container runtime, see container_test.go.
func TestMain(m *testing.M) {
	if setup := os.Getenv(containerVariable); setup != "" {
		fmt.Fprintln(os.Stderr, "container:", becomeContainer(setup))
		os.Exit(125)
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	folder, err := os.MkdirTemp("", "nearside-deploy-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(folder) }()
	program = filepath.Join(folder, "nearside")
	line, err := buildLine()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	build := exec.Command("sh", "-ec", strings.ReplaceAll(line, "-o /nearside ", "-o "+program+" ")) //nolint:noctx // the test's own limit is enough
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the program: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

var buildPattern = regexp.MustCompile(`(?m)^RUN (.*go build.* -o /nearside .*)$`)

// buildLine is the line of the Containerfile that builds the program.
func buildLine() (string, error) {
	text, err := os.ReadFile("Containerfile")
	if err != nil {
		return "", err
	}
	m := buildPattern.FindStringSubmatch(string(text))
	if m == nil {
		return "", fmt.Errorf("no line of the Containerfile builds /nearside: expected one like %s", buildPattern)
	}
	return m[1], nil
}
