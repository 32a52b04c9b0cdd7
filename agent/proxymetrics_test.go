package agent

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/nearside/nearside/nft"
)

// observed is how often a histogram of kube-proxy's has observed a family.
func observed(t *testing.T, a *Agent, name, family string) (n uint64) {
	t.Helper()
	families, err := a.metrics.registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "kubeproxy_"+name && m.GetLabel()[0].GetValue() == family {
				n += m.GetHistogram().GetSampleCount()
			}
		}
	}
	return n
}

func TestMetricsOfKubeProxy(t *testing.T) {
	a := busyAgent(t)
	m := a.metrics.proxy
	for family, want := range map[string]struct{ full, partial uint64 }{"IPv4": {2, 1}, "IPv6": {1, 2}} {
		require.Equal(t, want.full+want.partial, observed(t, a, "sync_proxy_rules_duration_seconds", family), family)
		require.Equal(t, want.full, observed(t, a, "sync_full_proxy_rules_duration_seconds", family), family)
		require.Equal(t, want.partial, observed(t, a, "sync_partial_proxy_rules_duration_seconds", family), family)
	}
	require.InDelta(t, 1, testutil.ToFloat64(m.failures.WithLabelValues("IPv4")), 0)
	require.InDelta(t, 0, testutil.ToFloat64(m.failures.WithLabelValues("IPv6")), 0)
	for _, f := range nft.Families {
		require.InDelta(t, unixSeconds(a.Health().Families[f].LastSync), testutil.ToFloat64(m.lastSync.WithLabelValues(familyLabel(f))), 0)
		require.Positive(t, testutil.ToFloat64(m.lastQueued.WithLabelValues(familyLabel(f))))
	}
	h := a.HealthHandler()
	require.Equal(t, http.StatusOK, get(t, h, "/healthz").Code)
	require.Equal(t, http.StatusOK, get(t, h, "/livez").Code)
	require.NoError(t, a.store.Delete(nodeObject("node-a", "")))
	require.Equal(t, http.StatusServiceUnavailable, get(t, h, "/healthz").Code, "the node is not eligible")
	for status, want := range map[string]float64{"200": 1, "503": 1} {
		require.InDelta(t, want, testutil.ToFloat64(m.healthz.WithLabelValues(status)), 0, status)
	}
	require.InDelta(t, 1, testutil.ToFloat64(m.livez.WithLabelValues("200")), 0)
	require.InDelta(t, 0, testutil.ToFloat64(m.livez.WithLabelValues("503")), 0)
}

// TestPortsWithEndpointsElsewhereOnly walks a service through what the gauge
// counts, and away.
func TestPortsWithEndpointsElsewhereOnly(t *testing.T) {
	b := newCommitBench(t)
	b.begin()
	requireCounts := func(internal, external int) {
		t.Helper()
		m := b.metrics.proxy.noLocal
		require.Equal(t, fmt.Sprint(internal, external, 0, 0), fmt.Sprint(
			testutil.ToFloat64(m.WithLabelValues("internal", "IPv4")), testutil.ToFloat64(m.WithLabelValues("external", "IPv4")),
			testutil.ToFloat64(m.WithLabelValues("internal", "IPv6")), testutil.ToFloat64(m.WithLabelValues("external", "IPv6"))))
	}
	local := corev1.ServiceInternalTrafficPolicyLocal
	web := serviceObject("web", "10.96.0.9")
	requireCounts(0, 0)
	for _, step := range []struct {
		name               string
		change             func()
		endpoint           string
		internal, external int
	}{
		{name: "endpoints elsewhere, policies Cluster", change: func() {}, endpoint: "10.0.0.7@node-b"},
		{name: "internal policy Local", change: func() { web.Spec.InternalTrafficPolicy = &local }, endpoint: "10.0.0.7@node-b", internal: 1},
		{name: "external policy Local as well, with a node port", change: func() {
			web.Spec.Type, web.Spec.ExternalTrafficPolicy = corev1.ServiceTypeNodePort, corev1.ServiceExternalTrafficPolicyLocal
			web.Spec.Ports[0].NodePort = 30080
		}, endpoint: "10.0.0.7@node-b", internal: 1, external: 1},
		{name: "an endpoint here", change: func() {}, endpoint: "10.0.0.7@node-a"},
		{name: "elsewhere again", change: func() {}, endpoint: "10.0.0.7@node-b", internal: 1, external: 1},
	} {
		step.change()
		require.NoError(t, b.store.Set(web.DeepCopy(), sliceObject("web", step.endpoint)), step.name)
		b.sync(take(t, b.Agent))
		requireCounts(step.internal, step.external)
	}
	require.NoError(t, b.store.Delete(web))
	b.sync(take(t, b.Agent))
	requireCounts(0, 0)
}
