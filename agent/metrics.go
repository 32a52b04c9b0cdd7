package agent

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/nearside/nearside/nft"
)

// metrics are the agent's own, in a registry of their own, so that two agents
// may live in one process and nothing of the embedding program is counted twice.
type metrics struct {
	registry        *prometheus.Registry
	proxy           *proxyMetrics
	syncDuration    *prometheus.HistogramVec // by ip_family, kind
	syncFailures    *prometheus.CounterVec   // by ip_family
	lastSync        *prometheus.GaugeVec     // by ip_family
	quarantined     *prometheus.GaugeVec     // by ip_family
	services        prometheus.Gauge
	endpoints       prometheus.Gauge
	skipped         *prometheus.CounterVec // by kind
	unknownPolicies prometheus.Counter
	flows           *prometheus.CounterVec // by ip_family
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		proxy:    newProxyMetrics(),
		syncDuration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "nearside_sync_duration_seconds",
			Help:    "Time to bring one family's table up to date, by IP family and kind of round (full, partial).",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 18),
		}, []string{"ip_family", "kind"}),
		syncFailures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nearside_sync_failures_total",
			Help: "Rounds that could not bring the table up to date, by IP family.",
		}, []string{"ip_family"}),
		lastSync: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "nearside_last_successful_sync_timestamp_seconds",
			Help: "Unix time of the last round that left the table up to date, by IP family.",
		}, []string{"ip_family"}),
		quarantined: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "nearside_quarantined_services",
			Help: "Services whose objects the kernel refuses and that are tried again from time to time, by IP family.",
		}, []string{"ip_family"}),
		services: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "nearside_services",
			Help: "Services the agent knows.",
		}),
		endpoints: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "nearside_endpoints",
			Help: "Endpoints of all service ports the agent knows, whatever their state.",
		}),
		skipped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nearside_skipped_objects_total",
			Help: "Objects, or parts of them, that could not be used and were left out, by kind of object.",
		}, []string{"kind"}),
		unknownPolicies: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "nearside_unknown_policies_total",
			Help: "Annotations nearside.dev/policy that name no policy, each service and value counted once.",
		}),
		flows: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nearside_deleted_flows_total",
			Help: "UDP flows that a change left behind and that were deleted, by IP family.",
		}, []string{"ip_family"}),
	}
	// A counter that is not there before the first failure makes no alert.
	for _, f := range nft.Families {
		m.syncFailures.WithLabelValues(familyLabel(f))
		m.flows.WithLabelValues(familyLabel(f))
	}
	m.proxy.register(m.registry)
	m.registry.MustRegister(m.syncDuration, m.syncFailures, m.lastSync, m.quarantined, m.services, m.endpoints,
		m.skipped, m.unknownPolicies, m.flows, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// MetricsHandler serves the agent's metrics in the Prometheus text format. It
// may be used before, during and after Run.
func (a *Agent) MetricsHandler() http.Handler {
	return promhttp.HandlerFor(a.metrics.registry, promhttp.HandlerOpts{Registry: a.metrics.registry})
}

// observe records one round of a family, where selecting took the given time for
// all families.
func (m *metrics) observe(r FamilyRound, selecting time.Duration) {
	family := familyLabel(r.Family)
	m.quarantined.WithLabelValues(family).Set(float64(r.Quarantined))
	if r.Deferred {
		return
	}
	m.proxy.observe(r, selecting)
	m.syncDuration.WithLabelValues(family, r.Kind()).Observe(r.Duration.Seconds())
	if r.Err != nil {
		m.syncFailures.WithLabelValues(family).Inc()
		return
	}
	m.lastSync.WithLabelValues(family).Set(unixSeconds(r.End))
}

// count records a notice.
func (m *metrics) count(n Notice) {
	switch n.Reason {
	case Skipped:
		m.skipped.WithLabelValues(n.Kind).Inc()
	case UnknownPolicy:
		m.unknownPolicies.Inc()
	case Quarantined, HealthCheckFailed, UnrestrictedFamily:
		// Quarantine has a gauge of its own, see observe; nothing else is left out.
	}
}

// familyLabel names a family as kube-proxy's metrics and health reports do.
func familyLabel(f nft.Family) string {
	if f == nft.IPv6 {
		return "IPv6"
	}
	return "IPv4"
}
