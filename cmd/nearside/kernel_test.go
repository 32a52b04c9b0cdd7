package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/internal/netns"
)

// listed is what nft prints for both tables in a namespace.
func listed(t *testing.T, ns *netns.Namespace) string {
	t.Helper()
	return ns.Run(t, "nft", "list", "table", "ip", "nearside") + ns.Run(t, "nft", "list", "table", "ip6", "nearside")
}

func ruleset(t *testing.T, ns *netns.Namespace) string {
	t.Helper()
	return ns.Run(t, "nft", "list", "ruleset")
}

func TestApplyMakesWhatRenderPrints(t *testing.T) {
	ns := netns.New(t)
	want := nearside(t, with("render", "-f", "testdata/cluster")...).out
	r := nearsideIn(t, ns, with("apply", "-f", "testdata/cluster")...)
	requireDone(t, r)
	require.Regexp(t, `^4 services, 11 endpoints, \d+ changes in [0-9.]+m?s\n$`, r.out)
	require.Equal(t, want, listed(t, ns))

	r = nearsideIn(t, ns, with("apply", "-f", "testdata/cluster")...)
	requireDone(t, r)
	require.Contains(t, r.out, " 0 changes in ")
}

func TestRenderIsAcceptedByNft(t *testing.T) {
	ns := netns.New(t)
	path := filepath.Join(t.TempDir(), "render.nft")
	want := nearside(t, with("render", "-f", "testdata/cluster")...).out
	require.NoError(t, os.WriteFile(path, []byte(want), 0o600))
	ns.Run(t, "nft", "-c", "-f", path)
	ns.Run(t, "nft", "-f", path)
	require.Equal(t, want, listed(t, ns))
}

func TestApplyChangesOnlyWhatDiffers(t *testing.T) {
	ns := netns.New(t)
	requireDone(t, nearsideIn(t, ns, with("apply", "-f", "testdata/cluster")...))
	folder := copyOfCluster(t)
	edit(t, filepath.Join(folder, "dns.yaml"), "10.244.3.53", "10.244.3.54")
	r := nearsideIn(t, ns, with("apply", "-f", folder)...)
	requireDone(t, r)
	require.Contains(t, r.out, " 4 changes in ", "one slot of each of two frontends is deleted and added")
	require.Equal(t, nearside(t, with("render", "-f", folder)...).out, listed(t, ns))
}

func TestApplyLeavesOtherTablesAlone(t *testing.T) {
	ns := netns.New(t)
	ns.Run(t, "nft", "add table inet filter; add chain inet filter input { type filter hook input priority 0; policy accept; }")
	before := ruleset(t, ns)
	requireDone(t, nearsideIn(t, ns, with("apply", "-f", "testdata/cluster")...))
	require.True(t, strings.HasPrefix(ruleset(t, ns), before))
	r := nearsideIn(t, ns, "cleanup")
	requireDone(t, r)
	require.Equal(t, "removed table ip nearside\nremoved table ip6 nearside\n", r.out)
	require.Equal(t, before, ruleset(t, ns))
	r = nearsideIn(t, ns, "cleanup")
	requireDone(t, r)
	require.Equal(t, "nothing to remove\n", r.out)
}

func TestMalformedManifestLeavesTheKernelUntouched(t *testing.T) {
	ns := netns.New(t)
	requireDone(t, nearsideIn(t, ns, with("apply", "-f", "testdata/cluster")...))
	before := ruleset(t, ns)
	folder := copyOfCluster(t)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "zz.yaml"), []byte("# one\n---\nkind: Service\nmetadata: [\n"), 0o600))
	for _, args := range [][]string{
		with("apply", "-f", folder),
		onHostAsIs(with("run", "--manifests", folder)...),
	} {
		r := nearsideIn(t, ns, args...)
		require.Equal(t, 1, r.status, r.errOut)
		require.Regexp(t, `(?m)^nearside: .*zz\.yaml:\d+: `, r.errOut)
		require.Equal(t, before, ruleset(t, ns))
	}
}

func TestBadObjectsInTheKernel(t *testing.T) {
	ns := netns.New(t)
	r := nearsideIn(t, ns, with("apply", "-f", "testdata/cluster", "-f", "testdata/bad")...)
	requireDone(t, r)
	require.Equal(t, 5, strings.Count(r.errOut, "level=WARN"), r.errOut)
	require.Equal(t, nearside(t, with("render", "-f", "testdata/cluster", "-f", "testdata/bad")...).out, listed(t, ns))
}

// TestWithoutPrivilege runs the program as another user in a namespace of
// root's.
func TestWithoutPrivilege(t *testing.T) {
	ns := netns.New(t)
	folder := copyOfCluster(t)
	for name, args := range map[string][]string{
		"apply":   with("apply", "-f", folder),
		"run":     onHostAsIs(with("run", "--manifests", folder)...),
		"cleanup": {"cleanup"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := command(t, args...)
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			r := finish(t, cmd, func(c *exec.Cmd) error { return ns.Do(c.Run) })
			requireFailure(t, r, 1, "needs CAP_NET_ADMIN to program nftables: run as root")
			require.Empty(t, ruleset(t, ns))
		})
	}
	t.Run("render needs none", func(t *testing.T) {
		cmd := command(t, with("render", "-f", folder)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		requireDone(t, finish(t, cmd, (*exec.Cmd).Run))
	})
}

// copyOfCluster copies the manifests into a folder that everybody may read.
func copyOfCluster(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "nearside-cluster-") //nolint:usetesting // others cannot look into t.TempDir
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	require.NoError(t, os.CopyFS(folder, os.DirFS("testdata/cluster")))
	require.NoError(t, os.Chmod(folder, 0o755))
	return folder
}

// edit replaces text in a file as an editor does: the new file takes the place
// of the old one in one step.
func edit(t *testing.T, path, from, to string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), from)
	next := filepath.Join(filepath.Dir(path), ".next")
	require.NoError(t, os.WriteFile(next, []byte(strings.ReplaceAll(string(text), from, to)), 0o644))
	require.NoError(t, os.Rename(next, path))
}
