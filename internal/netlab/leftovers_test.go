package netlab

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/internal/netns"
)

func TestLeftovers(t *testing.T) {
	netns.RequireRoot(t)
	const name = "nearside-leftover"
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childLab+"="+name)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	t.Cleanup(func() { _ = child.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "<nil>", strings.TrimSpace(line))
	namespace := fmt.Sprintf("%s-%d-alpha", name, child.Process.Pid)

	names := func() []string {
		list, err := Namespaces(name)
		require.NoError(t, err)
		return list
	}
	lab, err := New(t.Context(), Options{Name: name})
	require.NoError(t, err)
	require.Contains(t, names(), namespace, "a lab that lives is left alone")
	require.NoError(t, lab.Close())

	require.NoError(t, child.Process.Signal(syscall.SIGKILL))
	_ = child.Wait()
	require.Contains(t, names(), namespace, "a killed process cannot clean up")
	lab, err = New(t.Context(), Options{Name: name})
	require.NoError(t, err)
	require.Empty(t, names(), "the next lab does it")
	require.NoError(t, lab.Close())
}

func TestLeftoverOfAReusedProcessNumber(t *testing.T) {
	netns.RequireRoot(t)
	const name = "nearside-reused"
	// This process lives, but does not have the namespace open.
	namespace := fmt.Sprintf("%s-%d-alpha", name, os.Getpid())
	require.NoError(t, exec.Command("ip", "netns", "add", namespace).Run())
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", namespace).Run() })
	lab, err := New(t.Context(), Options{Name: name})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lab.Close()) })
	require.NoFileExists(t, filepath.Join(namespaceFolder, namespace))
}

func TestOwnerOf(t *testing.T) {
	for namespace, pid := range map[string]int{
		"nearside-demo-12-node-a":  12,
		"nearside-demo-1-x":        1,
		"nearside-demo-0-x":        0,
		"nearside-demo--5-x":       0,
		"nearside-demo-12":         0,
		"nearside-demo-other-12-x": 0,
		"nearside-12-x":            0,
		"blue":                     0,
	} {
		got, ok := ownerOf(namespace, "nearside-demo")
		require.Equal(t, pid != 0, ok, namespace)
		if ok {
			require.Equal(t, pid, got, namespace)
		}
	}
}
