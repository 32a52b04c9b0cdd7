package cluster_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/test/cluster/child"
)

const (
	healthzAddress = "127.0.0.1:10256"
	metricsAddress = "127.0.0.1:10249"
	// minSyncPeriod is the agent's least time between two rounds here: shorter
	// than the default, so that many single changes can be measured in a
	// test's time.
	minSyncPeriod = 100 * time.Millisecond
)

// agent is the real nearside binary as node-a's proxy.
type agent struct {
	*child.Process
	log string
}

// startAgent starts nearside run. Its log is shown when the test fails.
func startAgent(t *testing.T, kubeconfig string) *agent {
	t.Helper()
	a := &agent{log: filepath.Join(t.TempDir(), "nearside.log")}
	var err error
	a.Process, err = child.Start(child.Options{Log: a.log}, programs.nearside, "run",
		"--kubeconfig="+kubeconfig,
		"--node-name=node-a",
		"--cluster-cidr="+podCIDR,
		"--min-sync-period="+minSyncPeriod.String(),
		"--healthz-bind-address="+healthzAddress,
		"--metrics-bind-address="+metricsAddress,
		// The machine's settings are not the test's to change.
		"--conntrack-max-per-core=0",
		"--conntrack-tcp-timeout-established=0",
		"--conntrack-tcp-timeout-close-wait=0",
		"--oom-score-adj=0",
	)
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(a.Explain(fmt.Errorf("nearside, running: %t", a.Running())))
		}
		a.stop(t)
	})
	return a
}

// stop ends the agent as a service manager does.
func (a *agent) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, a.End(context.Background(), syscall.SIGTERM, 10*time.Second))
}

// requireHealthy checks that the agent runs, says that it is healthy, and has
// neither failed at anything nor left anything out.
func (a *agent) requireHealthy(t *testing.T) {
	t.Helper()
	require.True(t, a.Running(), "the agent must be alive: %v", a.Explain(nil))
	for _, path := range []string{"/healthz", "/livez"} {
		status, body := get(t, "http://"+healthzAddress+path)
		require.Equal(t, http.StatusOK, status, "%s: %s", path, body)
	}
	_, metrics := get(t, "http://"+metricsAddress+"/metrics")
	if !strings.Contains(metrics, "\nnearside_quarantined_services{") { // require would print them all
		t.Fatal("the agent's metrics must be there")
	}
	for line := range strings.Lines(metrics) {
		for _, trouble := range []string{"nearside_sync_failures_total", "nearside_quarantined_services", "nearside_skipped_objects_total"} {
			if strings.HasPrefix(line, trouble) {
				require.True(t, strings.HasSuffix(line, " 0\n"), "trouble: %s", line)
			}
		}
	}
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(data)
}
