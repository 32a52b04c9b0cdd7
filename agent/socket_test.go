package agent

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// serveSocket serves an agent's explanations until the test ends or the
// returned function is called.
func serveSocket(t *testing.T, a *Agent) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var background sync.WaitGroup
	require.NoError(t, a.serve(ctx, &background))
	stop = func() { cancel(); background.Wait() }
	t.Cleanup(stop)
	return stop
}

func TestExplainOverTheSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.sock")
	a := newTestAgent(t, Options{Socket: path}, explainable()...)
	stop := serveSocket(t, a)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing else may stay in the folder")

	target := Target{Service: shop("web"), Port: "http"}
	got, err := ExplainFrom(t.Context(), path, target)
	require.NoError(t, err)
	want, err := a.Explain(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, want, got)

	_, err = ExplainFrom(t.Context(), path, Target{Service: shop("wbe")})
	require.ErrorContains(t, err, `find service "shop/wbe"`)

	stop()
	require.NoFileExists(t, path)
	_, err = ExplainFrom(t.Context(), path, target)
	require.ErrorContains(t, err, "is nearside run --socket "+path+" running?")
}

func TestSocketRefusesWhatItDoesNotKnow(t *testing.T) {
	h := newTestAgent(t, Options{}).explainHandler()
	require.Equal(t, http.StatusBadRequest, get(t, h, "/explain?target=web").Code)
	require.Equal(t, http.StatusNotFound, get(t, h, "/explain?target=shop/web").Code)
	require.Equal(t, http.StatusNotFound, get(t, h, "/").Code)
}

func TestSocketReplacesOnlyWhatIsStale(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.sock")
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)

	_, err = listenSocket(path)
	require.ErrorContains(t, err, "another agent listens on it")

	stale.SetUnlinkOnClose(false)
	require.NoError(t, stale.Close())
	require.FileExists(t, path)
	l, err := listenSocket(path)
	require.NoError(t, err)

	// Another agent that comes later and takes the path keeps it.
	require.NoError(t, os.Remove(path))
	next, err := listenSocket(path)
	require.NoError(t, err)
	require.NoError(t, l.Close())
	require.FileExists(t, path, "the socket of somebody else must stay")
	require.NoError(t, next.Close())
	require.NoFileExists(t, path)
}

func TestSocketDoesNotReplaceFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.txt")
	require.NoError(t, os.WriteFile(path, []byte("keep me"), 0o600))
	_, err := listenSocket(path)
	require.ErrorContains(t, err, "a file that is not a socket is there")
	require.FileExists(t, path)
	_, err = listenSocket(filepath.Join(t.TempDir(), "missing", "agent.sock"))
	require.ErrorContains(t, err, "no such file or directory")
}
