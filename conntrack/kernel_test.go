package conntrack

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/internal/netns"
)

// flowLine is a line of the program conntrack: family, its number, protocol, and
// what each direction goes from and to.
var flowLine = regexp.MustCompile(`(?m)^ipv[46] +\d+ +(\S+) .*?dst=(\S+) sport=\S+ dport=(\S+) .*?src=(\S+) dst=\S+ sport=(\S+) .*$`)

// listed is what the program conntrack says of all flows: where they were sent
// to and where answers come from.
func listed(t testing.TB, ns *netns.Namespace) (flows []string) {
	t.Helper()
	for _, family := range []string{"ipv4", "ipv6"} {
		for line := range strings.Lines(ns.Run(t, "conntrack", "-L", "-o", "extended", "-f", family)) {
			if m := flowLine.FindStringSubmatch(line); m != nil {
				flows = append(flows, fmt.Sprintf("%s %s:%s>%s:%s", m[1], m[2], m[3], m[4], m[5]))
			}
		}
	}
	slices.Sort(flows)
	return flows
}

func TestCleanAgainstTheKernel(t *testing.T) {
	client := at("10.1.1.50:40000")
	udp := func(dialled, answering string) madeUp {
		m := madeUp{protocol: protocolUDP, client: client, dialled: at(dialled)}
		if answering != "" {
			m.answering = at(answering)
		}
		if m.dialled.Addr().Is6() {
			m.client = at("[fd00::50]:40000")
		}
		return m
	}
	speaking := func(protocol uint8, m madeUp) madeUp {
		m.protocol = protocol
		return m
	}
	inZone := func(zone uint16, m madeUp) madeUp {
		m.zone = zone
		return m
	}
	for _, row := range []struct {
		name    string
		flows   []madeUp
		changed []Frontend
		looked  int // what the kernel may hand over
		// sameClient leaves all flows to one port of the client.
		sameClient bool
		want       []string
	}{
		{
			name: "TCP and SCTP stay when their frontend vanishes",
			flows: []madeUp{
				udp("10.96.0.10:53", "10.1.2.5:5353"),
				speaking(tcp, udp("10.96.0.10:53", "10.1.2.5:5353")),
				speaking(sctp, udp("10.96.0.10:53", "10.1.2.5:5353")),
			},
			changed: []Frontend{frontend("10.96.0.10:53")}, looked: 1,
			want: []string{"sctp 10.96.0.10:53>10.1.2.5:5353", "tcp 10.96.0.10:53>10.1.2.5:5353"},
		},
		{
			name: "one address and port is all that the kernel hands over",
			flows: []madeUp{
				udp("10.96.0.10:53", "10.1.2.5:5353"), udp("10.96.0.10:54", "10.1.2.5:5353"),
				udp("10.96.0.11:53", "10.1.2.5:5353"), udp("[fd00::10]:53", "[fd00::5]:5353"),
			},
			changed: []Frontend{frontend("10.96.0.10:53", "10.1.2.6:5353")}, looked: 1,
			want: []string{
				"udp 10.96.0.10:54>10.1.2.5:5353", "udp 10.96.0.11:53>10.1.2.5:5353", "udp fd00::10:53>fd00::5:5353",
			},
		},
		{
			name: "one port is all that the kernel hands over in IPv6",
			flows: []madeUp{
				udp("[fd00::10]:53", "[fd00::5]:5353"), udp("[fd00::10]:54", "[fd00::5]:5353"), udp("[fd00::11]:53", "[fd00::5]:5353"),
				udp("10.96.0.10:53", "10.1.2.5:5353"), speaking(tcp, udp("[fd00::10]:53", "[fd00::5]:5353")),
			},
			changed: []Frontend{frontend("[fd00::10]:53", "[fd00::6]:5353")}, looked: 2,
			want: []string{
				"tcp fd00::10:53>fd00::5:5353", "udp 10.96.0.10:53>10.1.2.5:5353", "udp fd00::10:54>fd00::5:5353", "udp fd00::11:53>fd00::5:5353",
			},
		},
		{
			name: "a node port leaves the same port elsewhere",
			flows: []madeUp{
				udp("192.0.2.11:30053", "10.1.2.5:5353"), udp("192.0.2.12:30053", ""),
				udp("192.0.2.99:30053", ""), udp("192.0.2.11:30054", ""),
			},
			changed: []Frontend{frontend("0.0.0.0:30053", "10.1.2.6:5353")}, looked: 3,
			want: []string{"udp 192.0.2.11:30054>192.0.2.11:30054", "udp 192.0.2.99:30053>192.0.2.99:30053"},
		},
		{
			name: "many ports and both families",
			flows: []madeUp{
				udp("10.96.0.1:1", "10.1.2.5:1"), udp("10.96.0.2:2", "10.1.2.5:2"), udp("10.96.0.3:3", "10.1.2.5:3"),
				udp("10.96.0.4:4", "10.1.2.5:4"), udp("10.96.0.5:5", "10.1.2.5:5"),
				udp("[fd00::1]:1", "[fd00::5]:1"), udp("[fd00::2]:1", "[fd00::5]:1"), udp("[fd00::3]:3", "[fd00::5]:3"),
			},
			changed: []Frontend{
				frontend("10.96.0.1:1"), frontend("10.96.0.2:2", "10.1.2.5:2"), frontend("10.96.0.3:3"), frontend("10.96.0.4:4"),
				frontend("[fd00::1]:1"), frontend("[fd00::2]:1", "[fd00::5]:1"),
			},
			looked: 5 + 2,
			want: []string{
				"udp 10.96.0.2:2>10.1.2.5:2", "udp 10.96.0.5:5>10.1.2.5:5", "udp fd00::2:1>fd00::5:1", "udp fd00::3:3>fd00::5:3",
			},
		},
		{
			name: "the same flow in several zones goes in all of them",
			flows: []madeUp{
				udp("10.96.0.10:53", "10.1.2.5:5353"), inZone(1, udp("10.96.0.10:53", "10.1.2.5:5353")),
				inZone(2, udp("10.96.0.10:53", "10.1.2.6:5353")),
			},
			changed: []Frontend{frontend("10.96.0.10:53", "10.1.2.6:5353")}, looked: 3, sameClient: true,
			want: []string{"udp 10.96.0.10:53>10.1.2.6:5353"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			ns := netns.New(t)
			c := dialIn(t, ns)
			for i := range row.flows {
				if f := &row.flows[i]; !row.sameClient {
					f.client = netip.AddrPortFrom(f.client.Addr(), uint16(40000+i))
				}
			}
			c.makeUp(t, row.flows...)
			require.Len(t, listed(t, ns), len(row.flows))
			result, err := c.Clean(context.Background(), row.changed, addrs("192.0.2.11", "192.0.2.12"))
			require.NoError(t, err)
			require.Equal(t, row.want, listed(t, ns))
			require.Equal(t, Result{Deleted: len(row.flows) - len(row.want), Looked: row.looked}, result)
			require.Equal(t, len(row.want), c.flows(t))

			again, err := c.Clean(context.Background(), row.changed, addrs("192.0.2.11", "192.0.2.12"))
			require.NoError(t, err)
			require.Zero(t, again.Deleted)
		})
	}
}

// A client that goes on sending makes the flow anew as soon as the old one has
// run out. The new one leads where the rules say, and must not be mistaken for
// the old.
func TestAFlowThatWasMadeAnewSinceItWasListedStays(t *testing.T) {
	ns := netns.New(t)
	c := dialIn(t, ns)
	m := madeUp{protocol: protocolUDP, client: at("10.1.1.50:40000"), dialled: at("10.96.0.10:53"), answering: at("10.1.2.5:5353")}
	ts := newTargets(gone, nil)
	c.makeUp(t, m)
	_, deletions, err := c.list(context.Background(), ts.filters()[0], ts)
	require.NoError(t, err)
	require.Len(t, deletions, 1)

	ns.Run(t, "conntrack", "-F")
	m.answering = at("10.1.2.6:5353")
	c.makeUp(t, m)
	deleted, err := c.remove(context.Background(), deletions)
	require.NoError(t, err)
	require.Zero(t, deleted)
	require.Equal(t, []string{"udp 10.96.0.10:53>10.1.2.6:5353"}, listed(t, ns))
}

func TestManyMoreFlowsThanFitIntoABatchOrASocket(t *testing.T) {
	ns := netns.New(t)
	c := dialIn(t, ns)
	const n = 20_000
	flows := make([]madeUp, n)
	for i := range flows {
		flows[i] = madeUp{
			protocol: protocolUDP, client: netip.AddrPortFrom(netip.MustParseAddr("10.1.1.50"), uint16(i+1)),
			dialled: at("10.96.0.10:53"), answering: at("10.1.2.5:5353"),
		}
	}
	c.makeUp(t, flows...)
	ts := newTargets(gone, nil)
	_, deletions, err := c.list(context.Background(), ts.filters()[0], ts)
	require.NoError(t, err)
	require.Len(t, deletions, n)

	result, err := c.Clean(context.Background(), gone, nil)
	require.NoError(t, err)
	require.Equal(t, Result{Deleted: n, Looked: n}, result)
	require.Zero(t, c.flows(t))

	deleted, err := c.remove(context.Background(), deletions) // every one of them fails
	require.NoError(t, err)
	require.Zero(t, deleted)
}

func TestCountKnowsTheLimit(t *testing.T) {
	_, limit, err := dialIn(t, netns.New(t)).Count(context.Background())
	require.NoError(t, err)
	require.Positive(t, limit)
}
