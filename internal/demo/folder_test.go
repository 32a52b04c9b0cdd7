package demo

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRemoveFolders(t *testing.T) {
	gone := exec.Command("true")
	require.NoError(t, gone.Run())
	dead := gone.Process.Pid
	base := t.TempDir()
	folder := func(name string) string {
		path := filepath.Join(base, name)
		require.NoError(t, os.MkdirAll(filepath.Join(path, "manifests"), 0o755))
		return path
	}
	left := folder(fmt.Sprintf("%s-%d-123", labName, dead))
	kept := []string{
		folder(fmt.Sprintf("%s-%d-123", labName, os.Getpid())),
		folder(fmt.Sprintf("%s-%d", labName, dead)),
		folder(fmt.Sprintf("other-%d-123", dead)),
		folder(labName + "-x-123"),
	}
	link := filepath.Join(base, fmt.Sprintf("%s-%d-link", labName, dead))
	require.NoError(t, os.Symlink(kept[0], link))

	require.NoError(t, removeFolders(base))
	require.NoDirExists(t, left)
	for _, path := range kept {
		require.DirExists(t, filepath.Join(path, "manifests"))
	}
	_, err := os.Lstat(link)
	require.NoError(t, err, "a link is not a folder")
}
