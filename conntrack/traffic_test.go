package conntrack

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/nearside/nearside/internal/packettest"
	"github.com/nearside/nearside/nft"
)

// The play, in IPv4: cases 019 and 021 of the users' troubles. In IPv6 every
// address is its twin.
const (
	clusterIP = "10.96.0.10:53"
	nodePort  = "0.0.0.0:30053"
	first     = "10.1.2.5:5353" // endpoints, on another node
	second    = "10.1.2.6:5353"
	resolver  = "203.0.113.99:30053" // nobody of ours, with the number of the node port
)

// stage is a node that serves one UDP service, with two endpoints that answer
// whoever asks, whether the service still leads to them or not.
type stage struct {
	*packettest.Lab
	family  nft.Family
	conn    *nft.Conn
	table   *nft.Table
	cleaner *Cleaner
	nodes   []netip.Addr
	bound   map[netip.Addr]bool
}

// onStages plays a scene in both families.
func onStages(t *testing.T, scene func(t *testing.T, s *stage)) {
	for _, family := range []nft.Family{nft.IPv4, nft.IPv6} {
		t.Run(family.String(), func(t *testing.T) { scene(t, newStage(t, family)) })
	}
}

func newStage(t *testing.T, family nft.Family) *stage {
	t.Helper()
	s := &stage{Lab: packettest.New(t, packettest.Options{}), family: family, bound: map[netip.Addr]bool{}}
	s.Node.Must(t, func() (err error) {
		s.conn, err = nft.Dial()
		return err
	})
	t.Cleanup(func() { require.NoError(t, s.conn.Close()) })
	s.cleaner = dialIn(t, s.Node)
	cidr := netip.MustParsePrefix("10.0.0.0/8")
	if family == nft.IPv6 {
		cidr = packettest.TwinPrefix(cidr)
	}
	s.table = nft.NewTable(nft.Config{Family: family, ClusterCIDR: cidr})
	s.nodes = []netip.Addr{s.in("192.0.2.11:0").Addr(), s.in("192.0.2.12:0").Addr()}
	s.table.SetNodeAddrs(s.nodes)
	for _, e := range []string{first, second, resolver} {
		s.answer(t, e)
	}
	return s
}

// in is an address of the play in the family of the stage.
func (s *stage) in(ipv4 string) netip.AddrPort {
	a := at(ipv4)
	if s.family == nft.IPv6 {
		return packettest.TwinPort(a)
	}
	return a
}

// answer has an address in the world answer every datagram by its IPv4 name.
func (s *stage) answer(t *testing.T, name string) {
	t.Helper()
	require.NoError(t, s.Bind(packettest.World, s.in(name).Addr()))
	var conn *net.UDPConn
	s.World.Must(t, func() (err error) {
		conn, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(s.in(name)))
		return err
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 64)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			_, _ = conn.WriteToUDPAddrPort([]byte(string(b[:n])+" "+name), from)
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
}

// client is a socket that stays at one port and asks one address all the time.
type client struct{ conn *net.UDPConn }

func (s *stage) client(t *testing.T, side packettest.Side, from, to string) client {
	t.Helper()
	ns := s.Pods
	if side == packettest.World {
		ns = s.World
	}
	if a := s.in(from).Addr(); !s.bound[a] {
		s.bound[a] = true
		require.NoError(t, s.Bind(side, a))
	}
	var c client
	ns.Must(t, func() (err error) {
		c.conn, err = net.DialUDP("udp", net.UDPAddrFromAddrPort(s.in(from)), net.UDPAddrFromAddrPort(s.in(to)))
		return err
	})
	t.Cleanup(func() { _ = c.conn.Close() })
	return c
}

// refused is what a client meets that an ICMP error tells to go away.
const refused = "refused"

// How long a client waits for an answer. Within one machine it comes at once,
// however long that takes on a busy one. Only silence takes as long as it is
// waited for.
const (
	patience = 10 * time.Second
	aWhile   = 300 * time.Millisecond
)

// asks sends a datagram and returns who answers.
func (c client) asks(t *testing.T) string {
	t.Helper()
	name, err := c.ask(patience)
	if errors.Is(err, unix.ECONNREFUSED) {
		return refused
	}
	require.NoError(t, err)
	return name
}

// asksInVain sends a datagram that nobody answers.
func (c client) asksInVain(t *testing.T, why string) {
	t.Helper()
	_, err := c.ask(aWhile)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded, why)
}

func (c client) ask(within time.Duration) (name string, err error) {
	if err := c.conn.SetDeadline(time.Now().Add(within)); err != nil {
		return "", err
	}
	if _, err := c.conn.Write([]byte("anyone?")); err != nil {
		return "", err
	}
	b := make([]byte, 64)
	n, err := c.conn.Read(b)
	_, name, _ = strings.Cut(string(b[:n]), " ")
	return name, err
}

// serve commits the service with these frontends and endpoints.
func (s *stage) serve(t *testing.T, frontends []string, endpoints ...string) {
	t.Helper()
	service := nft.Service{Name: "demo/dns"}
	for _, addr := range frontends {
		f := nft.Frontend{Addr: s.in(addr), Protocol: nft.UDP}
		if addr != clusterIP {
			f.Kind = nft.External
		}
		for _, e := range endpoints {
			f.Backends = append(f.Backends, nft.Backend{Addr: s.in(e), Weight: 1})
		}
		service.Frontends = append(service.Frontends, f)
	}
	require.Empty(t, s.table.Set(service))
	require.NoError(t, s.conn.Apply(context.Background(), s.table.Changes()))
	s.table.Committed()
}

// clean deletes what is stale of these frontends and returns how much that was.
func (s *stage) clean(t *testing.T, frontends []string, serving ...string) int {
	t.Helper()
	var changed []Frontend
	for _, addr := range frontends {
		f := Frontend{Addr: s.in(addr)}
		for _, e := range serving {
			f.Serving = append(f.Serving, s.in(e))
		}
		changed = append(changed, f)
	}
	result, err := s.cleaner.Clean(context.Background(), changed, s.nodes)
	require.NoError(t, err)
	return result.Deleted
}

var (
	onlyClusterIP = []string{clusterIP}
	bothFrontends = []string{clusterIP, nodePort}
)

func TestAClientWithOnePortMovesOnWhenItsEndpointIsReplaced(t *testing.T) {
	onStages(t, func(t *testing.T, s *stage) {
		s.serve(t, onlyClusterIP, first)
		pod := s.client(t, packettest.Pods, "10.1.1.50:40000", clusterIP)
		require.Equal(t, first, pod.asks(t))

		s.serve(t, onlyClusterIP, second)
		require.Equal(t, first, pod.asks(t), "without a clean-up the flow stays where it was")
		require.Equal(t, 1, s.clean(t, onlyClusterIP, second))
		require.Equal(t, second, pod.asks(t))
		require.Zero(t, s.clean(t, onlyClusterIP, second))
		require.Equal(t, second, pod.asks(t))
	})
}

// Case 019: a service is scaled to zero, and later to one.
func TestClientsOfAServiceThatIsScaledToZeroAreRefusedAndServedAgain(t *testing.T) {
	onStages(t, func(t *testing.T, s *stage) {
		s.serve(t, bothFrontends, first)
		pod := s.client(t, packettest.Pods, "10.1.1.50:40000", clusterIP)
		outside := s.client(t, packettest.World, "203.0.113.50:40001", "192.0.2.11:30053")
		require.Equal(t, first, pod.asks(t))
		require.Equal(t, first, outside.asks(t))

		s.serve(t, bothFrontends)
		require.Equal(t, first, pod.asks(t), "without a clean-up the flow stays where it was")
		require.Equal(t, 2, s.clean(t, bothFrontends))
		require.Empty(t, listed(t, s.Node))
		require.Equal(t, refused, pod.asks(t))
		require.Equal(t, refused, outside.asks(t))

		s.serve(t, bothFrontends, second)
		s.clean(t, bothFrontends, second)
		require.Equal(t, second, pod.asks(t))
		require.Equal(t, second, outside.asks(t))
	})
}

// Case 021: a client that is older than the first endpoint.
func TestAClientThatIsOlderThanTheFirstEndpointGetsThrough(t *testing.T) {
	onStages(t, func(t *testing.T, s *stage) {
		s.serve(t, onlyClusterIP)
		pod := s.client(t, packettest.Pods, "10.1.1.50:40000", clusterIP)
		require.Equal(t, refused, pod.asks(t))
		s.serve(t, onlyClusterIP, first)
		s.clean(t, onlyClusterIP, first)
		require.Equal(t, first, pod.asks(t))
	})
}

// A client that is older than the service has a flow without translation.
func TestAClientThatIsOlderThanTheServiceGetsThrough(t *testing.T) {
	onStages(t, func(t *testing.T, s *stage) {
		s.serve(t, nil) // a table that knows nothing of the address
		pod := s.client(t, packettest.Pods, "10.1.1.50:40000", clusterIP)
		pod.asksInVain(t, "nobody has the address")

		s.serve(t, onlyClusterIP, first)
		pod.asksInVain(t, "without a clean-up the flow stays untranslated")
		require.Equal(t, 1, s.clean(t, onlyClusterIP, first))
		require.Equal(t, first, pod.asks(t))
	})
}

func TestFlowsToAnEndpointThatServesStay(t *testing.T) {
	onStages(t, func(t *testing.T, s *stage) {
		s.serve(t, onlyClusterIP, first, second)
		const n = 30 // of two equal ways one stays out once in 2^29
		var clients []client
		had := map[string]int{}
		var met []string
		for i := range n {
			c := s.client(t, packettest.Pods, netip.AddrPortFrom(netip.MustParseAddr("10.1.1.50"), uint16(40000+i)).String(), clusterIP)
			clients = append(clients, c)
			met = append(met, c.asks(t))
			had[met[i]]++
		}
		require.Len(t, had, 2)

		// The first is terminating but serves: new flows do not go there, old stay.
		s.serve(t, onlyClusterIP, second)
		require.Zero(t, s.clean(t, onlyClusterIP, first, second))
		for i, c := range clients {
			require.Equal(t, met[i], c.asks(t))
		}

		// It is gone.
		require.Equal(t, had[first], s.clean(t, onlyClusterIP, second))
		for _, c := range clients {
			require.Equal(t, second, c.asks(t))
		}
	})
}

func TestAFlowToTheNumberOfANodePortElsewhereStays(t *testing.T) {
	onStages(t, func(t *testing.T, s *stage) {
		s.serve(t, bothFrontends, first)
		pod := s.client(t, packettest.Pods, "10.1.1.50:40000", resolver)
		outside := s.client(t, packettest.World, "203.0.113.50:40001", "192.0.2.12:30053")
		require.Equal(t, resolver, pod.asks(t))
		require.Equal(t, first, outside.asks(t))

		s.serve(t, bothFrontends, second)
		require.Equal(t, 1, s.clean(t, bothFrontends, second))
		require.Len(t, listed(t, s.Node), 1)
		require.Equal(t, resolver, pod.asks(t))
		require.Equal(t, second, outside.asks(t))
	})
}

// The trigger that others lack: no endpoint changed, a frontend went.
func TestAClientOfANodePortThatWasTakenAwayIsCutOff(t *testing.T) {
	onStages(t, func(t *testing.T, s *stage) {
		s.serve(t, bothFrontends, first)
		outside := s.client(t, packettest.World, "203.0.113.50:40001", "192.0.2.11:30053")
		require.Equal(t, first, outside.asks(t))

		s.serve(t, onlyClusterIP, first)
		require.Equal(t, first, outside.asks(t), "without a clean-up the flow stays")
		require.Equal(t, 1, s.clean(t, []string{nodePort}))
		require.Equal(t, refused, outside.asks(t))
	})
}
