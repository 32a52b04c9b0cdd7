package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/internal/netns"
)

// onHostAsIs adds the flags that have the machine's settings left alone. The
// number of connections is the whole machine's, whatever the namespace.
func onHostAsIs(args ...string) []string {
	return append(args, "--conntrack-max-per-core=0", "--conntrack-tcp-timeout-established=0",
		"--conntrack-tcp-timeout-close-wait=0", "--oom-score-adj=0")
}

// timeouts reads settings of conntrack in a namespace.
func timeouts(t *testing.T, ns *netns.Namespace) (values []string) {
	t.Helper()
	for _, name := range []string{"tcp_timeout_established", "tcp_timeout_close_wait", "udp_timeout"} {
		ns.Must(t, func() error {
			text, err := os.ReadFile("/proc/sys/net/netfilter/nf_conntrack_" + name)
			values = append(values, strings.TrimSpace(string(text)))
			return err
		})
	}
	return values
}

// unprivileged runs a program as a container does that has CAP_NET_ADMIN only:
// the kernel's settings can be read and not written.
func unprivileged(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := command(t)
	const container = `set -e
mount --bind /proc/sys /proc/sys
mount -o remount,bind,ro /proc/sys
exec setpriv --bounding-set=-all,+net_admin --inh-caps=-all,+net_admin --no-new-privs -- "$@"`
	unshare, err := exec.LookPath("unshare")
	require.NoError(t, err)
	cmd.Path, cmd.Args = unshare, append([]string{"unshare", "--mount", "sh", "-c", container, "sh", binary}, args...)
	return cmd
}

const maxAsIs = "--conntrack-max-per-core=0"

func TestInitOnlySetsTheHostUpAndNothingElse(t *testing.T) {
	ns := netns.New(t)
	before := timeouts(t, ns)
	require.Equal(t, "432000", before[0], "the kernel's own")
	r := nearsideIn(t, ns, "run", "--init-only", maxAsIs, "--conntrack-udp-timeout=45s")
	requireDone(t, r)
	require.Equal(t, []string{"86400", "3600", "45"}, timeouts(t, ns))
	require.Contains(t, r.errOut, "setting=nf_conntrack_tcp_timeout_established value=86400 before=432000")
	require.Empty(t, ruleset(t, ns))

	r = nearsideIn(t, ns, "run", "--init-only", maxAsIs, "--conntrack-udp-timeout=45s")
	requireDone(t, r)
	require.Empty(t, r.errOut, "there was nothing left to do")
}

// TestRunNeedsNoMoreThanNetAdminOnAHostThatIsSetUp: one that is not ends the
// agent before it has done anything, and says what to do.
func TestRunNeedsNoMoreThanNetAdminOnAHostThatIsSetUp(t *testing.T) {
	ns := netns.New(t)
	folder := copyOfCluster(t)
	args := with("run", "--manifests", folder, maxAsIs, "--log-level", "error")
	r := finish(t, unprivileged(t, args...), func(c *exec.Cmd) error { return ns.Do(c.Run) })
	requireFailure(t, r, 1,
		"set nf_conntrack_tcp_timeout_established to 86400: ", "read-only file system: set it on the host beforehand",
		"--conntrack-tcp-timeout-established=0", "set nf_conntrack_tcp_timeout_close_wait to 3600")
	require.Empty(t, ruleset(t, ns))

	requireDone(t, nearsideIn(t, ns, "run", "--init-only", maxAsIs))
	a := started(t, ns, folder, unprivileged(t, with("run", "--manifests", folder, maxAsIs)...))
	a.requireTables()
	require.Contains(t, a.log(), "the agent's standing when memory runs out stays as it is")
	require.Zero(t, a.stop())
}

func TestSettingsThatAreNoneEndTheAgent(t *testing.T) {
	ns := netns.New(t)
	for flag, want := range map[string]string{
		"--conntrack-max-per-core=-1":             "check --conntrack-max-per-core: -1 is not a number",
		"--conntrack-udp-timeout=1500ms":          `check --conntrack-udp-timeout: "1.5s" is not a time of whole seconds`,
		"--conntrack-tcp-timeout-established=-1s": `check --conntrack-tcp-timeout-established: "-1s"`,
	} {
		requireFailure(t, nearsideIn(t, ns, append(onHostAsIs("run", "--init-only"), flag)...), 1, want)
	}
}

// TestAnOldKernelIsRefused has the program read the release of another kernel.
func TestAnOldKernelIsRefused(t *testing.T) {
	ns := netns.New(t)
	release := filepath.Join(t.TempDir(), "osrelease")
	require.NoError(t, os.WriteFile(release, []byte("5.10.0-8-amd64\n"), 0o600))
	run := func(more ...string) result {
		cmd := command(t)
		unshare, err := exec.LookPath("unshare")
		require.NoError(t, err)
		cmd.Path = unshare
		cmd.Args = append([]string{
			"unshare", "--mount", "sh", "-ec", `mount --bind "$1" /proc/sys/kernel/osrelease; shift; exec "$@"`, "sh", release, binary,
		}, onHostAsIs("run", "--init-only")...)
		cmd.Env = append(cmd.Env, more...)
		return finish(t, cmd, func(c *exec.Cmd) error { return ns.Do(c.Run) })
	}
	requireFailure(t, run(), 1, `"5.10.0-8-amd64" is older than 5.13`, "NEARSIDE_SKIP_KERNEL_VERSION_CHECK=1")
	requireDone(t, run("NEARSIDE_SKIP_KERNEL_VERSION_CHECK=1"))
}
