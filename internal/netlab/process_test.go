package netlab

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestProcess(t *testing.T) {
	lab := newLab(t)
	host, err := lab.AddHost(t.Context(), "alpha")
	require.NoError(t, err)

	t.Run("runs in the host and ends when asked to", func(t *testing.T) {
		cmd := exec.Command("sh", "-c", "readlink /proc/self/ns/net; exec sleep 60")
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		p, err := host.Start(cmd)
		require.NoError(t, err)
		line, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		require.NoError(t, host.Do(func() error {
			own, err := os.Readlink(threadNamespace)
			if err == nil && own != strings.TrimSpace(line) {
				err = fmt.Errorf("process is in %s, host is %s", line, own)
			}
			return err
		}))
		require.NoError(t, p.Stop(5*time.Second))
		<-p.Done()
		require.Error(t, p.Err(), "ended by a signal")
	})
	t.Run("is killed when it does not want to end", func(t *testing.T) {
		cmd := exec.Command("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done")
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		p, err := host.Start(cmd)
		require.NoError(t, err)
		_, err = bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		require.ErrorContains(t, p.Stop(50*time.Millisecond), "was killed")
	})
	t.Run("tells its exit status", func(t *testing.T) {
		p, err := host.Start(exec.Command("sh", "-c", "exit 3"))
		require.NoError(t, err)
		<-p.Done()
		require.ErrorContains(t, p.Err(), "exit status 3")
	})
	t.Run("says when there is no such program", func(t *testing.T) {
		_, err := host.Start(exec.Command("/no/such/program"))
		require.ErrorContains(t, err, `start "/no/such/program" in alpha`)
	})
}
