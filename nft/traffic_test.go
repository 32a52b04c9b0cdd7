package nft_test

import (
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/internal/packettest"
	"github.com/nearside/nearside/nft"
)

// The tests of traffic say what a table does to packets, and not what it looks
// like: a layout that passes them may replace the present one.

// trafficRow is a sentence: in a node that knows such and such and serves these
// services, a connection from there to there ends up like that. It is true in
// both families and of every protocol it lists.
type trafficRow struct {
	name     string
	node     knowledge
	services []nft.Service
	// serviceCIDR is where ClusterIPs come from, if known.
	serviceCIDR string
	from        packettest.Source
	to          string
	// speaking lists protocols. None: TCP, UDP and SCTP.
	speaking []packettest.Protocol
	want     []ending
}

// ending is one way in which a connection may end up.
type ending struct {
	kind packettest.Kind
	at   string // address and port it came out with
	// source is whose address it has then, invalid for its own.
	source netip.Addr
}

// The endings. Of the ways that a row lists, each has to come about.

func reaches(endpoint string) ending { return ending{kind: packettest.Delivered, at: endpoint} }

func (e ending) masqueradedBy(a netip.Addr) ending {
	e.source = a
	return e
}

var (
	refused   = ending{kind: packettest.Refused}
	dropped   = ending{kind: packettest.Dropped}
	untouched = ending{kind: packettest.Untouched}
)

const (
	webIP      = "10.96.0.10:80"
	farA       = "10.1.2.5:8080"
	farB       = "10.1.3.5:8080"
	nearA      = "10.1.1.5:8080"
	nearB      = "10.1.1.6:8080"
	onHost     = "192.0.2.11:8080" // an endpoint on the host's network
	manyProbes = 60                // of two equal ways one stays out once in 2^59
)

var trafficRows = []trafficRow{
	{
		name: "a pod reaches an endpoint elsewhere as itself", node: podsKnown, from: aPod, to: webIP,
		services: []nft.Service{service(webIP, farA)}, want: []ending{reaches(farA)},
	},
	{
		name: "a pod reaches an endpoint on its node as itself", node: podsKnown, from: aPod, to: webIP,
		services: []nft.Service{service(webIP, "@"+nearA)}, want: []ending{reaches(nearA)},
	},
	{
		name: "a pod reaches all endpoints", node: podsKnown, from: aPod, to: webIP,
		services: []nft.Service{service(webIP, farA, farB, "@"+nearA)},
		want:     []ending{reaches(farA), reaches(farB), reaches(nearA)},
	},
	{
		name: "a pod reaches an endpoint on the host's network as itself", node: podsKnown, from: aPod, to: webIP,
		services: []nft.Service{service(webIP, "@"+onHost)}, want: []ending{reaches(onHost)},
	},
	{
		name: "a pod of another node reaches an endpoint as itself", node: podsKnown, from: farPod, to: webIP,
		services: []nft.Service{service(webIP, farA, "@"+nearA)}, want: []ending{reaches(farA), reaches(nearA)},
	},
	{
		name: "a client outside the cluster is masqueraded", node: podsKnown, from: aClient, to: webIP,
		services: []nft.Service{service(webIP, farA, "@"+nearA)},
		want:     []ending{reaches(farA).masqueradedBy(onWorld), reaches(nearA).masqueradedBy(onPods)},
	},
	{
		name: "the node itself is masqueraded", node: podsKnown, from: theNode, to: webIP,
		services: []nft.Service{service(webIP, farA, "@"+nearA)},
		want:     []ending{reaches(farA).masqueradedBy(onWorld), reaches(nearA).masqueradedBy(onPods)},
	},
	{
		name: "where pods are not known a pod is not masqueraded", node: podsUnknown, from: aPod, to: webIP,
		services: []nft.Service{service(webIP, farA, "@"+nearA)}, want: []ending{reaches(farA), reaches(nearA)},
	},
	{
		name: "where pods are not known a client outside is not masqueraded", node: podsUnknown, from: aClient, to: webIP,
		services: []nft.Service{service(webIP, farA, "@"+nearA)}, want: []ending{reaches(farA), reaches(nearA)},
	},
	{
		name: "where pods are not known the node is not masqueraded", node: podsUnknown, from: theNode, to: webIP,
		services: []nft.Service{service(webIP, farA, "@"+nearA)}, want: []ending{reaches(farA), reaches(nearA)},
	},
	{
		name: "where everyone is masqueraded a pod is", node: masqueradesAll, from: aPod, to: webIP,
		services: []nft.Service{service(webIP, farA, "@"+nearA)},
		want:     []ending{reaches(farA).masqueradedBy(onWorld), reaches(nearA).masqueradedBy(onPods)},
	},
	{
		name: "where everyone is masqueraded a client outside is", node: masqueradesAll, from: aClient, to: webIP,
		services: []nft.Service{service(webIP, farA)}, want: []ending{reaches(farA).masqueradedBy(onWorld)},
	},
	{
		name: "where everyone is masqueraded the node is", node: masqueradesAll, from: theNode, to: webIP,
		services: []nft.Service{service(webIP, farA)}, want: []ending{reaches(farA).masqueradedBy(onWorld)},
	},
	{
		name: "a pod that meets itself is masqueraded, and another pod it meets is not deceived", node: podsKnown,
		from: packettest.Pod("10.1.1.5"), to: webIP,
		services: []nft.Service{service(webIP, "@"+nearA, "@"+nearB)},
		want:     []ending{reaches(nearA).masqueradedBy(onPods), reaches(nearB)},
	},
	{
		name: "a pod that meets itself is masqueraded where pods are not known", node: podsUnknown,
		from: packettest.Pod("10.1.1.5"), to: webIP,
		services: []nft.Service{service(webIP, "@"+nearA, farA)},
		want:     []ending{reaches(nearA).masqueradedBy(onPods), reaches(farA)},
	},
	{
		name: "a pod refused for want of endpoints", node: podsKnown, from: aPod, to: webIP,
		services: []nft.Service{service(webIP)}, want: []ending{refused},
	},
	{
		name: "a client outside refused for want of endpoints", node: podsKnown, from: aClient, to: webIP,
		services: []nft.Service{service(webIP)}, want: []ending{refused},
	},
	{
		name: "the node refused for want of endpoints", node: podsKnown, from: theNode, to: webIP,
		services: []nft.Service{service(webIP)}, want: []ending{refused},
	},
	{
		name: "a pod dropped for want of local endpoints", node: podsKnown, from: aPod, to: webIP,
		services: []nft.Service{silent(service(webIP))}, want: []ending{dropped},
	},
	{
		name: "a client outside dropped for want of local endpoints", node: podsKnown, from: aClient, to: webIP,
		services: []nft.Service{silent(service(webIP))}, want: []ending{dropped},
	},
	{
		name: "the node dropped for want of local endpoints", node: podsKnown, from: theNode, to: webIP,
		services: []nft.Service{silent(service(webIP))}, want: []ending{dropped},
	},
	{
		name: "TCP and UDP services of one address and port keep to their endpoints", node: podsKnown, from: aPod, to: webIP,
		services: []nft.Service{
			{Name: "demo/tcp", Frontends: []nft.Frontend{speaking(packettest.TCP, webIP, farA)}},
			{Name: "demo/udp", Frontends: []nft.Frontend{speaking(packettest.UDP, webIP, farB)}},
		},
		speaking: []packettest.Protocol{packettest.TCP}, want: []ending{reaches(farA)},
	},
	{
		name: "UDP and TCP services of one address and port keep to their endpoints", node: podsKnown, from: aPod, to: webIP,
		services: []nft.Service{
			{Name: "demo/tcp", Frontends: []nft.Frontend{speaking(packettest.TCP, webIP, farA)}},
			{Name: "demo/udp", Frontends: []nft.Frontend{speaking(packettest.UDP, webIP, farB)}},
		},
		speaking: []packettest.Protocol{packettest.UDP}, want: []ending{reaches(farB)},
	},
	{
		name: "a protocol that a service does not speak is refused", node: podsKnown, from: aPod, to: webIP,
		services: []nft.Service{{Name: "demo/tcp", Frontends: []nft.Frontend{speaking(packettest.TCP, webIP, farA)}}},
		speaking: []packettest.Protocol{packettest.UDP, packettest.SCTP}, want: []ending{refused},
	},
	{
		name: "a pod is refused at a port that a service does not have", node: podsKnown, from: aPod, to: "10.96.0.10:81",
		services: []nft.Service{service(webIP, farA)}, want: []ending{refused},
	},
	{
		name: "the node is refused at a port that a service does not have", node: podsKnown, from: theNode, to: "10.96.0.10:81",
		services: []nft.Service{service(webIP)}, want: []ending{refused},
	},
	{
		name: "an echo request to a service is refused", node: podsKnown, from: aPod, to: "10.96.0.10:0",
		services: []nft.Service{service(webIP, farA)}, speaking: []packettest.Protocol{packettest.ICMP}, want: []ending{refused},
	},
	{
		name: "an echo request elsewhere passes untouched", node: masqueradesAll, from: aPod, to: "203.0.113.9:0",
		services: []nft.Service{service(webIP, farA)}, speaking: []packettest.Protocol{packettest.ICMP}, want: []ending{untouched},
	},
	{
		name: "a pod's other traffic passes untouched", node: masqueradesAll, from: aPod, to: "203.0.113.9:80",
		services: []nft.Service{service(webIP, farA)}, want: []ending{untouched},
	},
	{
		name: "a client's other traffic passes untouched", node: masqueradesAll, from: aClient, to: nearA,
		services: []nft.Service{service(webIP, "@"+nearA)}, want: []ending{untouched},
	},
	{
		name: "the node's other traffic passes untouched", node: masqueradesAll, from: theNode, to: farA,
		services: []nft.Service{service(webIP, farA)}, want: []ending{untouched},
	},
	{
		name: "a pod's traffic to itself without a service passes untouched", node: masqueradesAll,
		from: packettest.Pod("10.1.1.5"), to: nearA,
		services: []nft.Service{service(webIP, "@"+nearA)}, want: []ending{untouched},
	},
}

func TestTraffic(t *testing.T) { checkRows(t, trafficRows) }

func checkRows(t *testing.T, rows []trafficRow) {
	t.Helper()
	n := newNode(t)
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			for _, f := range nft.Families {
				row.serve(t, n, f)
				for _, p := range row.protocols() {
					t.Run(fmt.Sprintf("%v/%v", f, p), func(t *testing.T) { row.check(t, n, f, p) })
				}
			}
		})
	}
}

func (row trafficRow) serve(t *testing.T, n *node, f nft.Family) {
	t.Helper()
	var serviceCIDR netip.Prefix
	if row.serviceCIDR != "" {
		serviceCIDR = netip.MustParsePrefix(row.serviceCIDR)
	}
	n.serveWithin(t, row.node.config(f), serviceCIDR, row.services...)
}

func (row trafficRow) protocols() []packettest.Protocol {
	if row.speaking != nil {
		return row.speaking
	}
	return transports
}

// check probes until every way in which the row may end has come about.
func (row trafficRow) check(t *testing.T, n *node, f nft.Family, p packettest.Protocol) {
	t.Helper()
	probe := packettest.Probe{From: row.from, To: netip.MustParseAddrPort(row.to), Proto: p}
	open := make(map[ending]bool, len(row.want))
	for _, e := range row.want {
		open[e] = true
	}
	for range 1 + manyProbes*(len(row.want)-1) {
		got := n.probe(t, f, probe)
		e := row.endingOf(f, got)
		require.Contains(t, row.want, e, "%v", got)
		if got.Kind == packettest.Refused {
			require.Equal(t, refusalOf[p], got.Refusal)
		}
		delete(open, e)
	}
	require.Empty(t, open, "these never came about")
}

// endingOf finds the ending of the row that an outcome is, or else tells what
// it is instead.
func (row trafficRow) endingOf(f nft.Family, got packettest.Outcome) ending {
	e := ending{kind: got.Kind}
	if got.Kind != packettest.Delivered {
		if got.Masqueraded {
			e.source = got.Source.Addr()
		}
		return e
	}
	for _, w := range row.want {
		if w.kind == packettest.Delivered && inFamily(f, netip.MustParseAddrPort(w.at)) == got.To {
			e.at = w.at
			if got.Masqueraded && w.source.IsValid() && addrIn(f, w.source) == got.Source.Addr() {
				e.source = w.source
				return e
			}
		}
	}
	if e.at == "" {
		e.at = got.To.String()
	}
	if got.Masqueraded {
		e.source = got.Source.Addr()
	}
	return e
}

// refusalOf is how each protocol is refused.
var refusalOf = map[packettest.Protocol]packettest.Refusal{
	packettest.TCP:  packettest.Reset,
	packettest.UDP:  packettest.PortUnreachable,
	packettest.SCTP: packettest.PortUnreachable,
	packettest.ICMP: packettest.PortUnreachable,
}

func TestTrafficRowsAreComplete(t *testing.T) {
	covered := map[string]bool{}
	for _, row := range trafficRows {
		for _, e := range row.want {
			covered[fmt.Sprintf("%v from %v, %v", e.kind, row.from.Side, row.node)] = true
		}
	}
	for _, side := range []packettest.Side{packettest.Pods, packettest.World, packettest.Node} {
		for _, k := range []knowledge{podsKnown, podsUnknown, masqueradesAll} {
			require.Contains(t, covered, fmt.Sprintf("%v from %v, %v", packettest.Delivered, side, k))
		}
		for _, kind := range []packettest.Kind{packettest.Refused, packettest.Dropped} {
			require.Contains(t, covered, fmt.Sprintf("%v from %v, %v", kind, side, podsKnown))
		}
		require.Contains(t, covered, fmt.Sprintf("%v from %v, %v", packettest.Untouched, side, masqueradesAll))
	}
}

// A translation that other rules have made is none of nearside's business, even
// where it masquerades everyone and the endpoint is one of its own.
func TestTrafficTranslatedByOthersIsNotMasqueraded(t *testing.T) {
	n := newNode(t)
	rules := `table inet other {
		chain ports {
			meta l4proto { tcp, udp, sctp } th dport 7777 meta nfproto ipv4 dnat ip to 10.1.2.5:8080
			meta l4proto { tcp, udp, sctp } th dport 7777 meta nfproto ipv6 dnat ip6 to [fd00:10:1:2::5]:8080
		}
		chain prerouting { type nat hook prerouting priority dstnat - 10; jump ports; }
		chain output { type nat hook output priority -110; jump ports; }
	}`
	cmd := exec.Command("nft", "-f", "-")
	cmd.Stdin = strings.NewReader(rules)
	require.NoError(t, n.Node.Start(cmd))
	require.NoError(t, cmd.Wait())
	for _, f := range nft.Families {
		n.serve(t, masqueradesAll.config(f), service(webIP, farA))
		for _, p := range transports {
			for _, from := range []packettest.Source{aPod, aClient, theNode} {
				t.Run(fmt.Sprintf("%v/%v from %v", f, p, from.Side), func(t *testing.T) {
					got := n.probe(t, f, packettest.Probe{From: from, To: packettest.To("203.0.113.80:7777"), Proto: p})
					require.Equal(t, inFamily(f, packettest.To(farA)), got.To)
					require.False(t, got.Masqueraded, "%v", got)
				})
			}
		}
	}
}
