package hostsetup

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/nearside/nearside/internal/netns"
)

// value is a setting of conntrack in the calling thread's network namespace.
func value(t *testing.T, name string) int {
	t.Helper()
	b, err := os.ReadFile("/proc/sys/net/netfilter/" + name)
	require.NoError(t, err)
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	require.NoError(t, err)
	return n
}

func TestApplyToTheKernel(t *testing.T) {
	ns := netns.New(t)
	names := []string{
		"nf_conntrack_tcp_timeout_established", "nf_conntrack_tcp_timeout_close_wait",
		"nf_conntrack_udp_timeout", "nf_conntrack_udp_timeout_stream", "nf_conntrack_tcp_be_liberal",
	}
	host := map[string]int{}
	for _, name := range names {
		host[name] = value(t, name)
	}
	o := Options{
		TCPEstablishedTimeout: 23 * time.Hour, TCPCloseWaitTimeout: 59 * time.Minute,
		UDPTimeout: 31 * time.Second, UDPStreamTimeout: 121 * time.Second, TCPBeLiberal: true,
	}
	want := []int{23 * 3600, 59 * 60, 31, 121, 1}
	ns.Must(t, func() error {
		changes, err := Apply(context.Background(), o)
		require.NoError(t, err)
		require.Len(t, changes, len(names))
		for i, name := range names {
			require.Equal(t, want[i], value(t, name), name)
		}
		changes, err = Apply(context.Background(), o)
		require.Empty(t, changes)
		return err
	})
	for _, name := range names {
		require.Equal(t, host[name], value(t, name), "%s of the host", name)
	}
}

// Within a network namespace of its own nobody may raise the number of
// connections: the kernel has one for all.
func TestANumberOfConnectionsThatMayNotBeRaised(t *testing.T) {
	ns := netns.New(t)
	ns.Must(t, func() error {
		have := value(t, "nf_conntrack_max")
		changes, err := Apply(context.Background(), Options{MaxPerCore: 1, Min: have})
		require.NoError(t, err, "what is there need not be written")
		require.Empty(t, changes)

		_, err = Apply(context.Background(), Options{MaxPerCore: 1, Min: have + 1})
		require.ErrorIs(t, err, fs.ErrPermission)
		require.EqualError(t, err, "set nf_conntrack_max to "+strconv.Itoa(have+1)+
			": open /proc/sys/net/netfilter/nf_conntrack_max: permission denied"+
			": set it on the host beforehand, or have it left alone by --conntrack-max-per-core=0")
		require.Equal(t, have, value(t, "nf_conntrack_max"))
		return nil
	})
}

func TestSettingsThatAreMountedReadOnly(t *testing.T) {
	netns.RequireRoot(t)
	tr := newTree(t, fresh)
	done := make(chan error)
	var changes []Change
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends, and its mounts with it
		done <- func() error {
			if err := readOnly(tr.root); err != nil {
				return err
			}
			o := Defaults()
			o.Root = tr.root
			var err error
			changes, err = Apply(context.Background(), o)
			return err
		}()
	}()
	err := <-done
	require.ErrorIs(t, err, unix.EROFS)
	require.Empty(t, changes)
	for _, setting := range []string{"max to 131072", "tcp_timeout_established to 86400", "tcp_timeout_close_wait to 3600"} {
		require.ErrorContains(t, err, "set nf_conntrack_"+setting+": open "+tr.root)
	}
	require.NotContains(t, err.Error(), "\n")
	require.Equal(t, fresh, tr.all(t))
}

// readOnly makes a directory read-only for the calling thread.
func readOnly(dir string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	return unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
}

func TestAskConntrack(t *testing.T) {
	ns := netns.New(t)
	ns.Must(t, func() error { return askConntrack(context.Background()) })
}

func TestOnlineCPUsAreThoseOfTheHost(t *testing.T) {
	n, err := onlineCPUs("/")
	require.NoError(t, err)
	dirs, err := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*")
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, runtime.NumCPU())
	require.LessOrEqual(t, n, len(dirs))

	// A process that is kept to one CPU still counts all.
	runtime.LockOSThread() // the thread ends with the test
	one := unix.CPUSet{}
	var allowed unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &allowed))
	for cpu := range 1024 {
		if allowed.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	require.NoError(t, unix.SchedSetaffinity(0, &one))
	again, err := onlineCPUs("/")
	require.NoError(t, err)
	require.Equal(t, n, again)
}
