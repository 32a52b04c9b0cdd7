package semantics

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/internal/packettest"
)

// refusalRows are about section D.
var refusalRows = []row{
	{
		shows: "D1", name: "without an endpoint everyone is refused at every address",
		given: objects(web(everyWay), endpoints("web")),
		want:  probes(from(anyone, webIP, refused), from(anyone, webVIP, refused), from(anyone, webExtIP, refused), from([]packettest.Source{aClient, aPod, theNode}, atNode, refused)),
		then: []step{
			{when: "without a slice", remove: objects(endpoints("web")), want: from(anyone, webIP, refused)},
			{when: "with an endpoint", change: objects(endpoints("web", farA8())), want: from([]packettest.Source{aPod}, webIP, reaches(farA))},
		},
	},
	{
		shows: "D3", name: "a ClusterIP refuses ports and protocols that its Service does not have, and echo requests",
		given: objects(web(), endpoints("web", farA8())),
		want:  probes(from(anyone, "10.96.0.10:81", refused), []probe{{from: aPod, to: "10.96.0.10:0", speaking: onlyEcho, want: refused}, {from: theNode, to: "10.96.0.10:0", speaking: onlyEcho, want: refused}}),
		then: []step{
			{when: "without endpoints", change: objects(endpoints("web")), want: from(anyone, "10.96.0.10:81", refused)},
			{when: "without the Service", remove: objects(web()), want: from(anyone, "10.96.0.10:81", untouched)},
		},
	},
	{
		shows: "D4", name: "addresses of ServiceCIDRs that no Service has meet silence, and no others do",
		given: objects(serviceCIDR("10.96.0.0/16"), web(), endpoints("web", farA8())),
		want: probes(from(anyone, "10.96.0.77:80", dropped), from(anyone, "10.97.0.77:80", untouched), from([]packettest.Source{aPod}, webIP, reaches(farA)),
			from([]packettest.Source{aPod}, "10.96.0.10:81", refused)),
		then: []step{
			{when: "without the Service", remove: objects(web()), want: from(anyone, webIP, dropped)},
			{when: "with another ServiceCIDR", change: objects(serviceCIDR("10.97.0.0/16")), want: probes(from(anyone, "10.97.0.77:80", dropped), from(anyone, "10.96.0.77:80", untouched))},
			{when: "without one", remove: objects(serviceCIDR("10.97.0.0/16")), want: from(anyone, "10.97.0.77:80", untouched)},
		},
	},
	{
		shows: "D5", name: "other ports of external addresses and of the node are left alone",
		given: objects(web(everyWay), endpoints("web", farA8())),
		want:  probes(from(anyone, "198.51.100.80:81", untouched), from(anyone, "198.51.100.90:81", untouched), from([]packettest.Source{aClient, aPod, theNode}, "192.0.2.11:30081", untouched)),
	},
}

// affinityRows are about section S.
var affinityRows = []row{
	{
		shows: "S1", name: "a client comes back to its endpoint, and clients are spread",
		given: objects(web(sticky(600)), endpoints("web", nearA8(), farA8(), farB8())),
		then:  []step{{when: "for many clients", act: clientsStick}},
	},
	{
		shows: "S1", name: "after its timeout without a new connection a client is forgotten",
		given: objects(web(sticky(1)), endpoints("web", nearA8(), farA8(), farB8())),
		then: []step{{when: "with pauses", act: func(t *testing.T, s *stage) {
			t.Helper()
			first := s.where(t, aPod, webIP)
			// One in three stays by chance, so after 40 pauses nobody does.
			require.Eventually(t, func() bool { return s.where(t, aPod, webIP) != first }, 2*patience, 1300*time.Millisecond)
		}}},
	},
	{
		shows: "S2", name: "all addresses of a Service port share one memory, and other ports have their own",
		given: objects(web(sticky(600), everyWay), endpoints("web", nearA8(), nearB8(), farA8(), farB8())),
		then: []step{{when: "for one client", act: func(t *testing.T, s *stage) {
			t.Helper()
			first := s.where(t, aClient, webIP)
			for _, to := range []string{webVIP, webExtIP, atNode, webIP} {
				for range fewProbes {
					require.Equal(t, first, s.where(t, aClient, to), to)
				}
			}
			apart := false
			for i := range 30 {
				client := packettest.Outside("203.0.113." + string(rune('1'+i/10)) + string(rune('0'+i%10)))
				tcp := s.open(t, packettest.Probe{From: client, To: packettest.To(webIP), Proto: packettest.TCP})
				udp := s.open(t, packettest.Probe{From: client, To: packettest.To(webIP), Proto: packettest.UDP})
				apart = apart || tcp.To != udp.To
			}
			require.True(t, apart, "the ports of a Service share their memory")
		}}},
	},
	{
		shows: "S3", name: "a client whose endpoint is lost gets another one at once, and is not led back",
		given: objects(web(sticky(600)), endpoints("web", nearA8(), farA8())),
		then: []step{{when: "for many clients", act: func(t *testing.T, s *stage) {
			t.Helper()
			for range 20 {
				s.where(t, aPod, webIP)
			}
			s.change(t, endpoints("web", nearA8(), "10.1.2.5@node-b unready"))
			s.checkAll(t, "one left", from([]packettest.Source{aPod, farPod}, webIP, reaches(nearA)))
			s.change(t, endpoints("web", nearA8(), farA8()))
			s.checkAll(t, "back again", from([]packettest.Source{aPod, farPod}, webIP, reaches(nearA)))
		}}},
	},
	{
		shows: "S4", name: "under external policy Local a remembered endpoint elsewhere does not count",
		given: objects(web(sticky(600), externalLocal, vips(vip)), endpoints("web", farA8())),
		want:  from([]packettest.Source{aClient}, webIP, reachesMasqueraded(farA)),
		then: []step{
			{when: "there is no local endpoint", want: from([]packettest.Source{aClient}, webVIP, dropped)},
			{when: "there is one", change: objects(endpoints("web", farA8(), nearA8())), want: from([]packettest.Source{aClient}, webVIP, reaches(nearA))},
		},
	},
	{
		shows: "S5", name: "changes of other objects and a restart forget nobody",
		given: objects(web(sticky(600)), endpoints("web", nearA8(), farA8(), farB8())),
		then: []step{{when: "for many clients", act: func(t *testing.T, s *stage) {
			t.Helper()
			before := map[packettest.Source]string{}
			for _, client := range manyClients() {
				before[client] = s.where(t, client, webIP)
			}
			s.change(t, service("next", at("10.96.0.11"), sticky(600)), endpoints("next", farA8()))
			s.change(t, endpoints("web", nearA8(), farA8(), farB8(), "10.1.3.9@node-c"))
			s.stop()
			s.start(t, nil)
			for client, endpoint := range before {
				require.Equal(t, endpoint, s.where(t, client, webIP))
			}
		}}},
	},
}

func manyClients() (all []packettest.Source) {
	for _, last := range []string{"20", "21", "22", "23", "24", "25", "26", "27", "28", "29", "30", "31", "32", "33", "34", "35"} {
		all = append(all, packettest.Pod("10.1.1."+last))
	}
	return all
}

// where opens a TCP connection and tells where it came out.
func (s *stage) where(t *testing.T, client packettest.Source, to string) string {
	t.Helper()
	got := s.open(t, packettest.Probe{From: client, To: packettest.To(to), Proto: packettest.TCP})
	require.Equal(t, packettest.Delivered, got.Kind, "%v", got)
	return got.To.String()
}

func clientsStick(t *testing.T, s *stage) {
	t.Helper()
	used := map[string]bool{}
	for _, client := range manyClients() {
		first := s.where(t, client, webIP)
		used[first] = true
		for range fewProbes {
			require.Equal(t, first, s.where(t, client, webIP))
		}
	}
	require.Greater(t, len(used), 1, "all clients have one endpoint")
}

// flowRows are about section U.
var flowRows = []row{
	{
		shows: "U1 U4", name: "a UDP client with one port follows the endpoints, from none to one, to another, to none and back",
		given: objects(web(nodePort), endpoints("web")),
		then: []step{
			{when: "none", act: udpClients(refused)},
			{when: "the first", change: objects(endpoints("web", farA8())), act: udpClients(reaches(farA))},
			{when: "another", change: objects(endpoints("web", farB8())), act: udpClients(reaches(farB))},
			{when: "none again", change: objects(endpoints("web")), act: udpClients(refused)},
			{when: "one again", change: objects(endpoints("web", farA8())), act: udpClients(reaches(farA))},
		},
	},
	{
		shows: "U3 R7", name: "a UDP flow to an endpoint that serves stays, ready or not, hinted or not",
		given: objects(web(), endpoints("web", farA8())),
		then: []step{{when: "with a flow", act: func(t *testing.T, s *stage) {
			t.Helper()
			o := s.connect(t, packettest.UDP, farA)
			s.change(t, endpoints("web", "10.1.2.5@node-b terminating", farB8()))
			s.goesOn(t, o, farA)
			s.change(t, endpoints("web", "10.1.2.5@node-b zone=zone-2", "10.1.3.5@node-c zone=zone-1"))
			s.goesOn(t, o, farA)
			s.change(t, web(internalLocal))
			s.goesOn(t, o, farA)
		}}},
	},
}

// udpClients has a pod and a client outside send a datagram, always from one
// port each.
func udpClients(want []ending) func(t *testing.T, s *stage) {
	return func(t *testing.T, s *stage) {
		t.Helper()
		for _, c := range []struct {
			from packettest.Source
			to   string
			port uint16
		}{{from: aPod, to: webIP, port: 700}, {from: aClient, to: atNode, port: 701}} {
			got := s.open(t, packettest.Probe{From: c.from, To: packettest.To(c.to), Proto: packettest.UDP, SourcePort: c.port})
			e := s.endingOf(probe{want: want}, got)
			e.masqueraded = false
			require.Contains(t, want, e, "%v from %v", got, c.from.Side)
		}
	}
}

// nodeRows are about section W, as far as others do not show it.
var nodeRows = []row{
	{
		shows: "W2", name: "an internal address is the node's primary one before an external one, and may change",
		given: objects(web(nodePort), endpoints("web", farA8())),
		want:  probes(from([]packettest.Source{aClient}, atNode, reachesMasqueraded(farA)), from([]packettest.Source{aClient}, atNodeToo, untouched)),
		then: []step{{
			when: "the Node has another address", change: objects(node("node-a", "zone-1", "192.0.2.12", "10.1.1.0/24")),
			want: probes(from([]packettest.Source{aClient}, atNodeToo, reachesMasqueraded(farA)), from([]packettest.Source{aClient}, atNode, untouched)),
		}},
	},
	{
		shows: "W5", name: "SCTP is served at every address, under both policies",
		given: objects(web(externalLocal, everyWay), endpoints("web", nearA8(), farA8())),
		want: []probe{
			{from: aPod, to: webIP, speaking: transports[2:], want: reaches(nearA, farA)},
			{from: aClient, to: webVIP, speaking: transports[2:], want: reaches(nearA)},
			{from: aClient, to: webExtIP, speaking: transports[2:], want: reaches(nearA)},
			{from: aClient, to: atNode, speaking: transports[2:], want: reaches(nearA)},
			{from: theNode, to: atNode, speaking: transports[2:], want: reachesMasqueraded(nearA, farA)},
		},
	},
}

// lifeRows are about K3, Y1 and Y6.
var lifeRows = []row{
	{
		shows: "Y1", name: "rules stay when the agent ends and until the next one knows all objects; then what vanished meanwhile is removed",
		given: objects(web(), endpoints("web", farA8()), service("old", at("10.96.0.11")), endpoints("old", farA8())),
		then: []step{{when: "after the end", act: func(t *testing.T, s *stage) {
			t.Helper()
			s.stop()
			old := probes(from([]packettest.Source{aPod}, webIP, reaches(farA)), from([]packettest.Source{aPod}, "10.96.0.11:80", reaches(farA)))
			s.checkAll(t, "without an agent", old)
			delete(s.objects, nameOf(service("old")))
			s.keep(endpoints("web", farB8()))
			s.begin(t, nil)
			store := <-s.source.stores // it runs and has no objects yet
			s.source.stores <- store
			s.checkAll(t, "with an agent that knows nothing yet", old)
			s.source.fill(t, s)
			s.checkAll(t, "with an agent that knows all", probes(from([]packettest.Source{aPod}, webIP, reaches(farB)), from([]packettest.Source{aPod}, "10.96.0.11:80", untouched)))
		}}},
	},
	{
		shows: "K3", name: "while endpoints change and the agent restarts every connection reaches one that is or was served",
		given: objects(web(), endpoints("web", nearA8(), farA8())),
		then:  []step{{when: "in a storm", act: noneIsLost}},
	},
	{
		shows: "Y6", name: "a Service that claims another's address does not keep later changes from anyone",
		given: objects(web(), endpoints("web", farA8()), service("thief"), endpoints("thief", farB8()), service("next", at("10.96.0.11")), endpoints("next", farA8())),
		then: []step{{
			when: "the next Service changes", change: objects(endpoints("next", farB8())),
			want: from([]packettest.Source{aPod}, "10.96.0.11:80", reaches(farB)),
		}},
	},
}

// noneIsLost opens connections one after another while endpoints come and go
// and the agent is restarted. One endpoint is there all the time.
func noneIsLost(t *testing.T, s *stage) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	lost := make(chan []packettest.Outcome)
	go func() {
		var bad []packettest.Outcome
		for ctx.Err() == nil {
			got := s.open(t, packettest.Probe{From: aPod, To: packettest.To(webIP), Proto: packettest.TCP})
			if got.Kind != packettest.Delivered {
				bad = append(bad, got)
			}
		}
		lost <- bad
	}()
	for i := range 20 {
		s.change(t, endpoints("web", [][]string{{nearA8()}, {nearA8(), farA8(), farB8()}, {nearA8(), nearB8()}}[i%3]...))
		if i%5 == 4 {
			s.stop()
			s.start(t, nil)
		}
	}
	cancel()
	require.Empty(t, <-lost, "connections that reached nobody")
}
