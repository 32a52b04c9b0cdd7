package conntrack

import (
	"context"
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/internal/netns"
)

// madeUpFlows are flows of which one in a hundred is to a service of statsd and
// the others are to that of DNS.
func madeUpFlows(n int) []madeUp {
	const portsPerClient = 50_000
	flows := make([]madeUp, n)
	for i := range flows {
		pod := byte(i / portsPerClient)
		flows[i] = madeUp{
			protocol:  protocolUDP,
			client:    netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, 1, 10 + pod}), uint16(10_000+i%portsPerClient)),
			dialled:   at("10.96.0.10:53"),
			answering: at("10.1.2.5:5353"),
		}
		if i%100 == 0 {
			flows[i].dialled, flows[i].answering = at("10.96.0.11:8125"), at("10.1.2.7:8125")
		}
	}
	return flows
}

// BenchmarkClean is what a change costs on a node with so many UDP flows, while
// none of them is stale: as a rule a change concerns few flows.
func BenchmarkClean(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		c := dialIn(b, netns.New(b))
		c.makeUp(b, madeUpFlows(n)...)
		for _, row := range []struct {
			name    string
			changed []Frontend
		}{
			{name: "no-udp"},
			{name: "service-without-flows", changed: []Frontend{frontend("10.96.0.12:9")}},
			{name: "service-with-one-in-100-flows", changed: []Frontend{frontend("10.96.0.11:8125", "10.1.2.7:8125")}},
			{
				name:    "the-same-with-a-node-port",
				changed: []Frontend{frontend("10.96.0.11:8125", "10.1.2.7:8125"), frontend("0.0.0.0:30125", "10.1.2.7:8125")},
			},
			{name: "service-with-99-in-100-flows", changed: []Frontend{frontend("10.96.0.10:53", "10.1.2.5:5353")}},
			{
				name: "many-services-at-once", changed: []Frontend{
					frontend("10.96.0.10:53", "10.1.2.5:5353"), frontend("10.96.0.11:8125", "10.1.2.7:8125"),
					frontend("10.96.0.12:1"), frontend("10.96.0.13:2"),
				},
			},
		} {
			b.Run(fmt.Sprintf("flows=%d/%s", n, row.name), func(b *testing.B) {
				b.ReportAllocs()
				looked := 0
				for b.Loop() {
					result, err := c.Clean(context.Background(), row.changed, addrs("192.0.2.11"))
					require.NoError(b, err)
					require.Zero(b, result.Deleted)
					looked = result.Looked
				}
				b.ReportMetric(float64(looked), "looked/op")
			})
		}
	}
}

// BenchmarkCleanDeletes is what it costs when all flows of a service are stale.
func BenchmarkCleanDeletes(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("stale=%d", n), func(b *testing.B) {
			c := dialIn(b, netns.New(b))
			flows := madeUpFlows(n)
			stale := []Frontend{frontend("10.96.0.10:53"), frontend("10.96.0.11:8125")}
			for b.Loop() {
				b.StopTimer()
				c.makeUp(b, flows...)
				b.StartTimer()
				result, err := c.Clean(context.Background(), stale, nil)
				require.NoError(b, err)
				require.Equal(b, n, result.Deleted)
			}
		})
	}
}
