package netlab

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNewRefusesNames(t *testing.T) {
	for _, name := range []string{"", "Upper", "with/slash", "-dash", "a b"} {
		_, err := New(t.Context(), Options{Name: name})
		require.ErrorContains(t, err, "expected a name", "%q", name)
	}
}

func TestLabRefusesHosts(t *testing.T) {
	lab := newLab(t)
	_, err := lab.AddHost(t.Context(), "alpha")
	require.NoError(t, err)
	_, err = lab.AddHost(t.Context(), "alpha")
	require.ErrorContains(t, err, "already")
	require.NoError(t, lab.Close())
	require.NoError(t, lab.Close(), "closing twice")
	_, err = lab.AddHost(t.Context(), "beta")
	require.ErrorContains(t, err, "closed")
}

func TestFindIP(t *testing.T) {
	folder := t.TempDir()
	ip := filepath.Join(folder, "ip")
	require.NoError(t, os.WriteFile(ip, nil, 0o755))
	got, err := findIP(filepath.Join(folder, "absent"), ip)
	require.NoError(t, err)
	require.Equal(t, ip, got)
	_, err = findIP(filepath.Join(folder, "absent"))
	require.ErrorIs(t, err, ErrNoIP)
	require.ErrorContains(t, err, "apt-get install iproute2")
}
