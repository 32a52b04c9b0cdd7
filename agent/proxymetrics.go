package agent

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nearside/nearside/nft"
)

// proxyMetrics are those that kube-proxy has too, under its names, so that
// dashboards and alerts made for it go on. Each has the meaning that it has
// there; what would mean something else here is not among them.
type proxyMetrics struct {
	sync, full, partial *prometheus.HistogramVec // by ip_family, like all but the last two
	lastSync            *prometheus.GaugeVec
	lastQueued          *prometheus.GaugeVec
	failures            *prometheus.CounterVec
	noLocal             *prometheus.GaugeVec // by traffic_policy, ip_family
	flowsTook           *prometheus.HistogramVec
	flowsDeleted        *prometheus.CounterVec
	healthz, livez      *prometheus.CounterVec // by code
}

func newProxyMetrics() *proxyMetrics {
	family := []string{"ip_family"}
	histogram := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "kubeproxy", Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(0.001, 2, 15),
		}, family)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "kubeproxy", Name: name, Help: help}, labels)
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "kubeproxy", Name: name, Help: help}, labels)
	}
	m := &proxyMetrics{
		sync: histogram("sync_proxy_rules_duration_seconds",
			"Time of a round from the selection of endpoints to the kernel's answer."),
		full: histogram("sync_full_proxy_rules_duration_seconds",
			"Time of a round in which the kernel's table was read back and compared."),
		partial: histogram("sync_partial_proxy_rules_duration_seconds",
			"Time of a round that sent what changed and nothing else."),
		lastSync: gauge("sync_proxy_rules_last_timestamp_seconds",
			"Unix time of the last round that left the table up to date.", family...),
		lastQueued: gauge("sync_proxy_rules_last_queued_timestamp_seconds",
			"Unix time at which there was last a change to make.", family...),
		failures: counter("sync_proxy_rules_nftables_sync_failures_total",
			"Rounds that could not bring the table up to date.", family...),
		noLocal: gauge("sync_proxy_rules_no_local_endpoints_total",
			"Service ports whose traffic policy asks for endpoints on this node while all are elsewhere.", "traffic_policy", "ip_family"),
		flowsTook: histogram("conntrack_reconciler_sync_duration_seconds",
			"Time to look for UDP flows that a change left behind and to delete them."),
		flowsDeleted: counter("conntrack_reconciler_deleted_entries_total",
			"UDP flows that a change left behind and that were deleted.", family...),
		healthz: counter("proxy_healthz_total", "Answers of /healthz, by HTTP status.", "code"),
		livez:   counter("proxy_livez_total", "Answers of /livez, by HTTP status.", "code"),
	}
	m.appear()
	return m
}

// appear makes those series that alerts rest on before there is anything to
// count.
func (m *proxyMetrics) appear() {
	for _, f := range nft.Families {
		family := familyLabel(f)
		m.failures.WithLabelValues(family)
		m.flowsDeleted.WithLabelValues(family)
		for _, traffic := range trafficLabels {
			m.noLocal.WithLabelValues(traffic, family)
		}
	}
	for _, status := range []int{http.StatusOK, http.StatusServiceUnavailable} {
		m.healthz.WithLabelValues(strconv.Itoa(status))
		m.livez.WithLabelValues(strconv.Itoa(status))
	}
}

func (m *proxyMetrics) register(r *prometheus.Registry) {
	r.MustRegister(m.sync, m.full, m.partial, m.lastSync, m.lastQueued, m.failures, m.noLocal, m.flowsTook, m.flowsDeleted,
		m.healthz, m.livez)
}

// observe records one round of a family that was tried, where selecting took
// the given time for all families.
func (m *proxyMetrics) observe(r FamilyRound, selecting time.Duration) {
	family := familyLabel(r.Family)
	took := (selecting + r.Duration).Seconds()
	m.sync.WithLabelValues(family).Observe(took)
	if r.Full {
		m.full.WithLabelValues(family).Observe(took)
	} else {
		m.partial.WithLabelValues(family).Observe(took)
	}
	if r.Err != nil {
		m.failures.WithLabelValues(family).Inc()
		return
	}
	m.lastSync.WithLabelValues(family).Set(unixSeconds(r.End))
}

// queued records that a family has a change to make.
func (m *proxyMetrics) queued(f nft.Family, now time.Time) {
	m.lastQueued.WithLabelValues(familyLabel(f)).Set(unixSeconds(now))
}

// nowhereHere records how many service ports have endpoints elsewhere only.
func (m *proxyMetrics) nowhereHere(n noLocal) {
	for traffic, label := range trafficLabels {
		for _, f := range nft.Families {
			m.noLocal.WithLabelValues(label, familyLabel(f)).Set(float64(n[traffic][f]))
		}
	}
}

// answered records an answer of /healthz or /livez.
func (m *proxyMetrics) answered(healthz bool, status int) {
	c := m.livez
	if healthz {
		c = m.healthz
	}
	c.WithLabelValues(strconv.Itoa(status)).Inc()
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
