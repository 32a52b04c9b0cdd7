package hostsetup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tree is a directory that looks like a host's proc and sys.
type tree struct{ root string }

// Settings of a host as the kernel makes them, with two CPUs.
var fresh = map[string]string{
	"sys/devices/system/cpu/online":                               "0-1",
	"sys/module/nf_conntrack/parameters/hashsize":                 "16384",
	"proc/sys/net/netfilter/nf_conntrack_max":                     "65536",
	"proc/sys/net/netfilter/nf_conntrack_buckets":                 "16384",
	"proc/sys/net/netfilter/nf_conntrack_tcp_timeout_established": "432000",
	"proc/sys/net/netfilter/nf_conntrack_tcp_timeout_close_wait":  "60",
	"proc/sys/net/netfilter/nf_conntrack_udp_timeout":             "30",
	"proc/sys/net/netfilter/nf_conntrack_udp_timeout_stream":      "120",
	"proc/sys/net/netfilter/nf_conntrack_tcp_be_liberal":          "0",
}

// newTree makes a tree of these settings.
func newTree(t *testing.T, settings map[string]string) tree {
	t.Helper()
	tr := tree{root: t.TempDir()}
	for path, value := range settings {
		tr.write(t, path, value)
	}
	return tr
}

func (tr tree) write(t *testing.T, path, value string) {
	t.Helper()
	path = filepath.Join(tr.root, path)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(value+"\n"), 0o600))
}

func (tr tree) remove(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.RemoveAll(filepath.Join(tr.root, path)))
}

// all returns what the settings are now.
func (tr tree) all(t *testing.T) map[string]string {
	t.Helper()
	settings := map[string]string{}
	require.NoError(t, filepath.WalkDir(tr.root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(tr.root, path)
		settings[name] = strings.TrimSpace(string(b))
		return err
	}))
	return settings
}
