package demo

import (
	"fmt"
	"strings"
	"time"
)

// measured is what connections from one node to one service came to.
type measured struct {
	node    string
	allowed []string // the pods they may reach, none if they must be dropped
	tally   *tally
}

// dropped reports whether the policy allows no endpoint at all.
func (m *measured) dropped() bool { return len(m.allowed) == 0 }

// failed is the number of connections that should have been answered.
func (m *measured) failed() int {
	if m.dropped() {
		return 0
	}
	return m.tally.failed
}

// policyTable shows who answered connections from each node to one service.
func (sc *scenario) policyTable(service string, rows []measured) string {
	endpoints := sc.endpoints(service)
	t := &table{align: "llr" + strings.Repeat("r", len(endpoints)) + "rrrrrl"}
	head, where := []string{"from", "zone", "conns"}, []string{"", "", ""}
	for _, p := range endpoints {
		head, where = append(head, p.name), append(where, p.node)
	}
	t.row(append(head, "same node", "same zone", "failed", "p50", "p99")...)
	t.row(where...)
	for i := range rows {
		t.row(sc.policyRow(&rows[i], endpoints)...)
	}
	return t.String()
}

func (sc *scenario) policyRow(m *measured, endpoints []pod) []string {
	zone := sc.zone(m.node)
	cells := []string{m.node, zone, thousands(m.tally.answered + m.tally.failed)}
	for _, p := range endpoints {
		cells = append(cells, percent(m.tally.share(p.name), m.tally.byPod[p.name]))
	}
	if m.tally.answered == 0 {
		cells = append(cells, "-", "-", fmt.Sprint(m.failed()), "-", "-")
	} else {
		cells = append(cells,
			percent(m.tally.shareOf(func(name string) bool { return sc.nodeOf(name) == m.node }), m.tally.answered),
			percent(m.tally.shareOf(func(name string) bool { return sc.zone(sc.nodeOf(name)) == zone }), m.tally.answered),
			thousands(m.failed()),
			connectText(m.tally, 50), connectText(m.tally, 99))
	}
	switch {
	case m.dropped() && m.tally.answered == 0:
		cells = append(cells, "dropped: no endpoint on the node")
	case m.failed() > 0:
		cells = append(cells, m.tally.reason())
	}
	return cells
}

// summaryTable compares the policies.
func summaryTable(sc *scenario, results []result) string {
	t := &table{align: "lrrrrrr"}
	t.row("policy", "answered", "same node", "same zone", "failed", "p50", "p99")
	for _, r := range results {
		all := new(tally)
		failed, onNode, inZone := 0, 0, 0
		for _, s := range sc.services {
			for i := range r.services[s.name] {
				m := &r.services[s.name][i]
				all.merge(m.tally)
				failed += m.failed()
				onNode += m.tally.count(func(pod string) bool { return sc.nodeOf(pod) == m.node })
				inZone += m.tally.count(func(pod string) bool { return sc.zone(sc.nodeOf(pod)) == sc.zone(m.node) })
			}
		}
		n := float64(max(all.answered, 1))
		t.row(r.policy.name, thousands(all.answered), percent(float64(onNode)/n, all.answered), percent(float64(inZone)/n, all.answered),
			thousands(failed), connectText(all, 50), connectText(all, 99))
	}
	return t.String()
}

// nodeOf returns the node of a pod, empty for a name that is none.
func (sc *scenario) nodeOf(name string) string { return sc.pod(name).node }

// percent writes a share of which something may be left out: nothing is a dash.
func percent(share float64, n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*share)
}

// connectText writes a percentile of the time to connect.
func connectText(t *tally, percent float64) string {
	if t.answered == 0 {
		return "-"
	}
	return milliseconds(t.connectTime(percent))
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}

// legend explains the columns of policyTable.
const legend = `Each row below: the client pod of that node made so many connections to the ClusterIP of a service,
each a new one with one HTTP request, which the endpoint answers with its name.

  conns            connections that were tried
  cart-1, ...      share that this endpoint answered; below its name, the node it runs on
  same node, zone  share that was answered on the client's node, in the client's zone
  failed           connections without an answer, apart from those that a policy demands to drop
  p50, p99         time to connect that half of the connections, 99 of 100 of them, did not exceed

A policy reaches the kernels some time after its manifest was written. Most of that is the agents' wait for
the folder of manifests to come to rest.
`
