package conntrack

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var at = netip.MustParseAddrPort

func addrs(texts ...string) (list []netip.Addr) {
	for _, t := range texts {
		list = append(list, netip.MustParseAddr(t))
	}
	return list
}

// frontend is a frontend and the endpoints that serve it.
func frontend(addr string, serving ...string) Frontend {
	f := Frontend{Addr: at(addr)}
	for _, s := range serving {
		f.Serving = append(f.Serving, at(s))
	}
	return f
}

const tcp, sctp = 6, 132

func TestWhichFlowsAreStale(t *testing.T) {
	node := addrs("192.0.2.11", "192.0.2.12", "2001:db8::11")
	for _, row := range []struct {
		name      string
		changed   []Frontend
		protocol  uint8 // 0: UDP
		dialled   string
		answering string // empty: not translated
		want      bool
	}{
		{
			name:    "a flow to an endpoint that left is stale",
			changed: []Frontend{frontend("10.96.0.10:53", "10.1.2.6:5353")},
			dialled: "10.96.0.10:53", answering: "10.1.2.5:5353", want: true,
		},
		{
			name:    "a flow to an endpoint that serves stays",
			changed: []Frontend{frontend("10.96.0.10:53", "10.1.2.5:5353", "10.1.2.6:5353")},
			dialled: "10.96.0.10:53", answering: "10.1.2.6:5353",
		},
		{
			name:    "a flow to another port of an endpoint that serves is stale",
			changed: []Frontend{frontend("10.96.0.10:53", "10.1.2.5:5353")},
			dialled: "10.96.0.10:53", answering: "10.1.2.5:53", want: true,
		},
		{
			name:    "a flow that was never translated is stale",
			changed: []Frontend{frontend("10.96.0.10:53", "10.1.2.5:5353")},
			dialled: "10.96.0.10:53", want: true,
		},
		{
			name:    "every flow to a frontend that vanished is stale",
			changed: []Frontend{frontend("10.96.0.10:53")},
			dialled: "10.96.0.10:53", answering: "10.1.2.5:5353", want: true,
		},
		{
			name:    "a flow to another address stays",
			changed: []Frontend{frontend("10.96.0.10:53")},
			dialled: "10.96.0.11:53", answering: "10.1.2.5:5353",
		},
		{
			name:    "a flow to another port stays",
			changed: []Frontend{frontend("10.96.0.10:53")},
			dialled: "10.96.0.10:54", answering: "10.1.2.5:5353",
		},
		{
			name:    "a connection over TCP stays",
			changed: []Frontend{frontend("10.96.0.10:53")}, protocol: tcp,
			dialled: "10.96.0.10:53", answering: "10.1.2.5:5353",
		},
		{
			name:    "an association over SCTP stays",
			changed: []Frontend{frontend("10.96.0.10:53")}, protocol: sctp,
			dialled: "10.96.0.10:53", answering: "10.1.2.5:5353",
		},
		{
			name:    "a flow to a node port at any of the node's addresses is stale",
			changed: []Frontend{frontend("0.0.0.0:30053")},
			dialled: "192.0.2.12:30053", answering: "10.1.2.5:5353", want: true,
		},
		{
			name:    "a flow to a node port in IPv6 is stale",
			changed: []Frontend{frontend("[::]:30053")},
			dialled: "[2001:db8::11]:30053", answering: "[fd00::5]:5353", want: true,
		},
		{
			name:    "a node port of one family leaves flows of the other",
			changed: []Frontend{frontend("0.0.0.0:30053")},
			dialled: "[2001:db8::11]:30053", answering: "[fd00::5]:5353",
		},
		{
			name:    "a flow to the number of a node port on someone else's address stays",
			changed: []Frontend{frontend("0.0.0.0:30053")},
			dialled: "192.0.2.99:30053",
		},
		{
			name:    "an endpoint on the host's network, at the node port itself, serves",
			changed: []Frontend{frontend("0.0.0.0:30053", "192.0.2.11:30053")},
			dialled: "192.0.2.11:30053",
		},
		{
			name:    "an address that moved from one service to another takes the endpoints of both",
			changed: []Frontend{frontend("198.51.100.1:53"), frontend("198.51.100.1:53", "10.1.2.5:5353")},
			dialled: "198.51.100.1:53", answering: "10.1.2.5:5353",
		},
		{
			name:    "an IPv4 address in the clothes of IPv6 is the same address",
			changed: []Frontend{frontend("[::ffff:10.96.0.10]:53", "[::ffff:10.1.2.5]:5353")},
			dialled: "10.96.0.10:53", answering: "10.1.2.5:5353",
		},
		{
			name:    "an IPv4 address in the clothes of IPv6 is found",
			changed: []Frontend{frontend("[::ffff:10.96.0.10]:53")},
			dialled: "10.96.0.10:53", want: true,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := flow{protocol: row.protocol, dialled: at(row.dialled), answering: at(row.dialled)}
			if row.protocol == 0 {
				f.protocol = protocolUDP
			}
			if row.answering != "" {
				f.answering = at(row.answering)
			}
			require.Equal(t, row.want, newTargets(row.changed, node).stale(f))
		})
	}
}

func TestFiltersAskForLittleInFewQuestions(t *testing.T) {
	for _, row := range []struct {
		name    string
		changed []Frontend
		want    []string
	}{
		{
			name:    "one address and port",
			changed: []Frontend{frontend("10.96.0.10:53")},
			want:    []string{"IPv4 UDP flows to 10.96.0.10:53"},
		},
		{
			name:    "one port at several addresses",
			changed: []Frontend{frontend("10.96.0.10:53"), frontend("198.51.100.1:53")},
			want:    []string{"IPv4 UDP flows to port 53"},
		},
		{
			name:    "a service and its node port",
			changed: []Frontend{frontend("10.96.0.10:53"), frontend("0.0.0.0:30053")},
			want:    []string{"IPv4 UDP flows to 10.96.0.10:53", "IPv4 UDP flows to port 30053"},
		},
		{
			name: "many ports at one address",
			changed: []Frontend{
				frontend("10.96.0.10:1"), frontend("10.96.0.10:2"), frontend("10.96.0.10:3"), frontend("10.96.0.10:4"),
			},
			want: []string{"IPv4 UDP flows to 10.96.0.10"},
		},
		{
			name: "many ports at many addresses",
			changed: []Frontend{
				frontend("10.96.0.10:1"), frontend("10.96.0.11:2"), frontend("10.96.0.10:3"), frontend("10.96.0.10:4"),
			},
			want: []string{"IPv4 UDP flows"},
		},
		{
			name:    "both families",
			changed: []Frontend{frontend("10.96.0.10:53"), frontend("[fd00::10]:53")},
			want:    []string{"IPv4 UDP flows to 10.96.0.10:53", "IPv6 UDP flows to port 53"},
		},
		{name: "a node port of a family in which the node has no address", changed: []Frontend{frontend("[::]:30053")}},
		{name: "nothing"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got []string
			for _, f := range newTargets(row.changed, addrs("192.0.2.11", "192.0.2.12")).filters() {
				got = append(got, f.String())
			}
			require.Equal(t, row.want, got)
		})
	}
}

// passes is what the kernel does with a filter.
func (f filter) passes(a netip.AddrPort) bool {
	return f.ipv6 == a.Addr().Is6() && (!f.addr.IsValid() || f.addr == a.Addr()) && (f.port == 0 || f.port == a.Port())
}

func TestFiltersMissNoTargetAndAskForNoneTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		address := rapid.SampledFrom(addrs("0.0.0.0", "10.96.0.1", "10.96.0.2", "::", "fd00::1", "fd00::2"))
		port := rapid.Uint16Range(1, 6)
		var changed []Frontend
		for range rapid.IntRange(0, 8).Draw(t, "frontends") {
			changed = append(changed, Frontend{Addr: netip.AddrPortFrom(address.Draw(t, "address"), port.Draw(t, "port"))})
		}
		ts := newTargets(changed, addrs("192.0.2.11", "192.0.2.12", "2001:db8::11"))
		filters := ts.filters()
		require.LessOrEqual(t, len(filters), 2*maxQuestions)
		for addr := range ts {
			passed := 0
			for _, f := range filters {
				if f.passes(addr) {
					passed++
				}
			}
			require.Equal(t, 1, passed, "%v by %v", addr, filters)
		}
	})
}
