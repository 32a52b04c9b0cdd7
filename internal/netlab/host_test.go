package netlab

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHostDo(t *testing.T) {
	lab := newLab(t)
	before := hostInterfaces(t)
	host, err := lab.AddHost(t.Context(), "alpha")
	require.NoError(t, err)

	t.Run("runs in the host's namespace, where only loopback is", func(t *testing.T) {
		require.NoError(t, host.Do(func() error {
			if got := hostInterfaces(t); len(got) != 1 || got[0] != "lo" {
				return fmt.Errorf("interfaces are %v", got)
			}
			return nil
		}))
	})
	t.Run("leaves every other thread where it was", func(t *testing.T) {
		for range 50 {
			require.NoError(t, host.Do(func() error { return nil }))
			require.Equal(t, before, hostInterfaces(t))
		}
	})
	t.Run("turns a panic into an error that names the host", func(t *testing.T) {
		err := host.Do(func() error { panic("boom") })
		require.ErrorContains(t, err, "alpha: panic: boom")
	})
	t.Run("survives a function that ends its goroutine", func(t *testing.T) {
		err := host.Do(func() error {
			runtime.Goexit()
			return nil
		})
		require.ErrorIs(t, err, errGoexit)
	})
	t.Run("has a name that ip knows", func(t *testing.T) {
		out, err := exec.Command("ip", "netns", "exec", host.Namespace, "ip", "-br", "link").CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "lo")
	})
}

func TestBatchErrors(t *testing.T) {
	lab := newLab(t)
	host, err := lab.AddHost(t.Context(), "alpha")
	require.NoError(t, err)
	var b Batch
	b.Add("link set lo up")
	b.Add("addr add %s dev nowhere", "10.0.0.1/24")
	err = host.IP(t.Context(), &b)
	require.ErrorContains(t, err, "alpha")
	require.ErrorContains(t, err, `in command "ip addr add 10.0.0.1/24 dev nowhere"`)
	require.ErrorContains(t, err, "Cannot find device")

	require.ErrorContains(t, host.Sysctl("kernel.hostname", "x"), "below net.")

	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("had enough")
	cancel(why)
	require.ErrorIs(t, host.IP(ctx, &b), why)
}
