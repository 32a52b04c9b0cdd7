package selector_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/selector"
)

// TestReportedTroubles replays troubles that users of other proxies reported,
// step by step, as far as the selection goes.
func TestReportedTroubles(t *testing.T) {
	// The reports have three nodes in three zones.
	const a, b, c = "node-a", "node-b", "node-c"
	type step struct {
		name  string
		given selector.Request
		want  string
	}
	for _, tc := range []struct {
		name, report string
		steps        []step
	}{
		{
			name:   "a zone without an endpoint falls back to the other zones",
			report: "https://github.com/cilium/cilium/issues/41022",
			steps: []step{
				{
					name:  "other zones only",
					given: request(ready("10.1.2.5", b, forZones("zone-2")), ready("10.1.3.5", c, forZones("zone-3"))),
					want:  "10.1.2.5 10.1.3.5",
				},
				{
					name: "the zone gets one of its own",
					given: request(ready("10.1.1.5", a, forZones("zone-1")),
						ready("10.1.2.5", b, forZones("zone-2")), ready("10.1.3.5", c, forZones("zone-3"))),
					want: "10.1.1.5",
				},
				{
					name:  "and loses it again",
					given: request(ready("10.1.2.5", b, forZones("zone-2")), ready("10.1.3.5", c, forZones("zone-3"))),
					want:  "10.1.2.5 10.1.3.5",
				},
			},
		},
		{
			name:   "a terminating endpoint on the node gets nothing beside a ready one, here or elsewhere",
			report: "https://github.com/cilium/cilium/pull/46339",
			steps: []step{
				{
					name: "one of two on the node is ready",
					given: request(ready("10.1.1.5", a, forZones("zone-1"), forNodes(a)),
						draining("10.1.1.6", a, forZones("zone-1"), forNodes(a)),
						ready("10.1.2.5", b, forZones("zone-2"), forNodes(b))),
					want: "10.1.1.5",
				},
				{
					name: "both on the node are terminating",
					given: request(draining("10.1.1.5", a, forZones("zone-1"), forNodes(a)),
						draining("10.1.1.6", a, forZones("zone-1"), forNodes(a)),
						ready("10.1.2.5", b, forZones("zone-2"), forNodes(b))),
					want: "10.1.2.5",
				},
			},
		},
		{
			name:   "a dead pod that begins to terminate does not come back",
			report: "https://github.com/projectcalico/calico/issues/8650",
			steps: []step{
				{name: "both are ready", given: request(ready("10.1.1.5", a), ready("10.1.2.5", b)), want: "10.1.1.5 10.1.2.5"},
				{name: "its node fails", given: request(ready("10.1.1.5", a), unready("10.1.2.5", b)), want: "10.1.1.5"},
				{name: "it is evicted", given: request(ready("10.1.1.5", a), gone("10.1.2.5", b)), want: "10.1.1.5"},
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for i, step := range tc.steps {
				sel := selector.Cluster{}.Select(&step.given)
				require.Equal(t, step.want, addrs(sel.Backends), "step %d, %s (%s)", i+1, step.name, tc.report)
			}
		})
	}
}
