package agent

import (
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/nft"
)

// busyAgent has something to count everywhere.
func busyAgent(t *testing.T) *Agent {
	b := newCommitBench(t)
	b.begin()
	require.NoError(t, b.store.Set(withPolicy(serviceObject("c", "10.96.0.3"), "Nearest"), sliceObject("c", "10.0.0.300@node-a")))
	b.sync(take(t, b.Agent))
	b.k.refuse = func(*nft.Transaction) error { return &nft.Error{Op: "add element", Errno: syscall.ENOMEM} }
	b.change("a", "10.0.0.9@node-a")
	return b.Agent
}

func TestMetricsAreWellNamed(t *testing.T) {
	problems, err := testutil.GatherAndLint(busyAgent(t).metrics.registry)
	require.NoError(t, err)
	// kube-proxy's name for a gauge, which its users' dashboards have.
	problems = slices.DeleteFunc(problems, func(p promlint.Problem) bool {
		return p.Metric == "kubeproxy_sync_proxy_rules_no_local_endpoints_total" && strings.Contains(p.Text, "_total")
	})
	require.Empty(t, problems)
}

func TestMetricsCount(t *testing.T) {
	a := busyAgent(t)
	require.NoError(t, testutil.GatherAndCompare(a.metrics.registry, strings.NewReader(`
# HELP nearside_endpoints Endpoints of all service ports the agent knows, whatever their state.
# TYPE nearside_endpoints gauge
nearside_endpoints 3
# HELP nearside_services Services the agent knows.
# TYPE nearside_services gauge
nearside_services 3
# HELP nearside_skipped_objects_total Objects, or parts of them, that could not be used and were left out, by kind of object.
# TYPE nearside_skipped_objects_total counter
nearside_skipped_objects_total{kind="EndpointSlice"} 1
# HELP nearside_sync_failures_total Rounds that could not bring the table up to date, by IP family.
# TYPE nearside_sync_failures_total counter
nearside_sync_failures_total{ip_family="IPv4"} 1
nearside_sync_failures_total{ip_family="IPv6"} 0
# HELP nearside_unknown_policies_total Annotations nearside.dev/policy that name no policy, each service and value counted once.
# TYPE nearside_unknown_policies_total counter
nearside_unknown_policies_total 1
`), "nearside_endpoints", "nearside_services", "nearside_skipped_objects_total", "nearside_sync_failures_total", "nearside_unknown_policies_total"))
	require.Equal(t, 4, testutil.CollectAndCount(a.metrics.syncDuration), "full and partial for each family")
	require.InDelta(t, float64(a.Health().Families[nft.IPv6].LastSync.UnixMilli())/1000,
		testutil.ToFloat64(a.metrics.lastSync.WithLabelValues("IPv6")), 0)
}

func TestMetricsEndpoint(t *testing.T) {
	w := get(t, busyAgent(t).MetricsHandler(), "/metrics")
	require.Equal(t, http.StatusOK, w.Code)
	for _, name := range []string{
		`nearside_sync_duration_seconds_bucket{ip_family="IPv4",kind="full"`, "nearside_last_successful_sync_timestamp_seconds",
		`nearside_quarantined_services{ip_family="IPv6"} 0`, "go_goroutines", "process_resident_memory_bytes",
	} {
		require.Contains(t, w.Body.String(), name)
	}
}
