package nft_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/nearside/nearside/internal/netns"
	"github.com/nearside/nearside/internal/packettest"
	"github.com/nearside/nearside/nft"
)

const (
	// atOnce is longer than a connection within one machine takes, and shorter
	// than the second after which TCP repeats what nobody has answered.
	atOnce = 800 * time.Millisecond
	// patience is longer than any machine should take.
	patience = 10 * time.Second
)

// namespace is where the sockets of a side live.
func (n *node) namespace(s packettest.Side) *netns.Namespace {
	return map[packettest.Side]*netns.Namespace{
		packettest.World: n.World, packettest.Pods: n.Pods, packettest.Node: n.Node,
	}[s]
}

// greet listens on a side and tells every client where it seems to come from.
func (n *node) greet(t *testing.T, s packettest.Side, addr netip.AddrPort) {
	t.Helper()
	var listener net.Listener
	n.namespace(s).Must(t, func() (err error) {
		listener, err = net.Listen("tcp", addr.String())
		return err
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = fmt.Fprint(conn, conn.RemoteAddr())
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
}

// connect makes a TCP connection within a time and returns what the server says.
func (n *node) connect(from packettest.Source, to netip.AddrPort, within time.Duration) (greeting string, err error) {
	err = n.namespace(from.Side).Do(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		var dialer net.Dialer
		if from.Addr.IsValid() {
			dialer.LocalAddr = &net.TCPAddr{IP: from.Addr.AsSlice()}
		}
		conn, err := dialer.DialContext(ctx, "tcp", to.String())
		if err != nil {
			return err
		}
		b, err := io.ReadAll(conn)
		greeting = string(b)
		return errors.Join(err, conn.Close())
	})
	return greeting, err
}

// sourceIn is a source in IPv4 in its form in a family.
func sourceIn(f nft.Family, s packettest.Source) packettest.Source {
	if f == nft.IPv6 {
		return s.Twin()
	}
	return s
}

func TestTrafficOfRealConnections(t *testing.T) {
	for _, row := range []struct {
		name    string
		from    packettest.Source
		service nft.Service
		server  packettest.Side
		at      string
		seenAs  []string // the client's address to the server is one of these
	}{
		{
			name: "from a pod to an endpoint elsewhere", from: aPod, seenAs: []string{"10.1.1.50"},
			service: service(webIP, farA), server: packettest.World, at: farA,
		},
		{
			name: "from a client outside to an endpoint on the node", from: aClient, seenAs: []string{"10.1.1.1"},
			service: service(webIP, "@"+nearA), server: packettest.Pods, at: nearA,
		},
		{
			name: "from a pod to itself", from: packettest.Pod("10.1.1.5"), seenAs: []string{"10.1.1.1"},
			service: service(webIP, "@"+nearA), server: packettest.Pods, at: nearA,
		},
		{
			name: "from the node to an endpoint elsewhere", from: packettest.Host(), seenAs: []string{"192.0.2.11"},
			service: service(webIP, farA), server: packettest.World, at: farA,
		},
		{
			name: "from the node to an endpoint on it", from: packettest.Host(), seenAs: []string{"10.1.1.1"},
			service: service(webIP, "@"+nearA), server: packettest.Pods, at: nearA,
		},
		{
			name: "from the node to an endpoint on the host's network", from: packettest.Host(),
			seenAs:  []string{"192.0.2.11", "192.0.2.12"}, // the kernel's choice on the loopback interface
			service: service(webIP, "@"+onHost), server: packettest.Node, at: onHost,
		},
		{
			name: "from a pod to an endpoint on the host's network", from: aPod, seenAs: []string{"10.1.1.50"},
			service: service(webIP, "@"+onHost), server: packettest.Node, at: onHost,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, f := range nft.Families {
				t.Run(f.String(), func(t *testing.T) {
					n := newNode(t)
					n.serve(t, podsKnown.config(f), row.service)
					from, server := sourceIn(f, row.from), inFamily(f, packettest.To(row.at))
					if row.server != packettest.Node {
						require.NoError(t, n.Bind(row.server, server.Addr()))
					}
					if from.Addr.IsValid() && (from.Side != row.server || from.Addr != server.Addr()) {
						require.NoError(t, n.Bind(from.Side, from.Addr))
					}
					n.greet(t, row.server, server)
					greeting, err := n.connect(from, inFamily(f, packettest.To(webIP)), patience)
					require.NoError(t, err)
					seen, err := netip.ParseAddrPort(greeting)
					require.NoError(t, err)
					var expected []netip.Addr
					for _, a := range row.seenAs {
						expected = append(expected, addrIn(f, netip.MustParseAddr(a)))
					}
					require.Contains(t, expected, seen.Addr())
				})
			}
		})
	}
}

// What a process gets to know of a refusal. From elsewhere it is the same for
// TCP and UDP. On the node itself a UDP socket learns it twice: the call that
// sends fails with EPERM, because the packet was forbidden on its way out, and
// the next one with ECONNREFUSED, because of the ICMP error.
func TestTrafficRefusalsReachTheCaller(t *testing.T) {
	for _, row := range []struct {
		name string
		from packettest.Source
		to   string
	}{
		{name: "a pod without endpoints", from: aPod, to: webIP},
		{name: "a client outside without endpoints", from: aClient, to: webIP},
		{name: "the node without endpoints", from: packettest.Host(), to: webIP},
		{name: "a pod at a port that is none", from: aPod, to: "10.96.0.10:81"},
		{name: "the node at a port that is none", from: packettest.Host(), to: "10.96.0.10:81"},
	} {
		t.Run(row.name, func(t *testing.T) {
			n := newNode(t)
			for _, f := range nft.Families {
				n.serve(t, podsKnown.config(f), service(webIP))
				from, to := sourceIn(f, row.from), inFamily(f, packettest.To(row.to))
				if from.Addr.IsValid() {
					require.NoError(t, n.Bind(from.Side, from.Addr))
				}
				t.Run(f.String()+"/tcp", func(t *testing.T) { n.requireRefusedAtOnce(t, from, to) })
				t.Run(f.String()+"/udp", func(t *testing.T) {
					sent, received := n.datagram(t, from, to)
					if from.Side == packettest.Node {
						require.ErrorIs(t, sent, unix.EPERM)
					} else {
						require.NoError(t, sent)
					}
					require.ErrorIs(t, received, unix.ECONNREFUSED)
				})
			}
		})
	}
}

// requireRefusedAtOnce tries more often than ICMP errors are let through, and
// pardons a machine that is slow once or twice.
func (n *node) requireRefusedAtOnce(t *testing.T, from packettest.Source, to netip.AddrPort) {
	t.Helper()
	slow := 0
	for range 20 {
		_, err := n.connect(from, to, atOnce)
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
			slow++
			continue
		}
		require.ErrorIs(t, err, unix.ECONNREFUSED)
	}
	require.LessOrEqual(t, slow, 2)
}

// datagram sends a datagram from a connected socket and waits for an answer.
func (n *node) datagram(t *testing.T, from packettest.Source, to netip.AddrPort) (sent, received error) {
	t.Helper()
	n.namespace(from.Side).Must(t, func() error {
		var local *net.UDPAddr
		if from.Addr.IsValid() {
			local = &net.UDPAddr{IP: from.Addr.AsSlice()}
		}
		conn, err := net.DialUDP("udp", local, net.UDPAddrFromAddrPort(to))
		if err != nil {
			return err
		}
		if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
			return err
		}
		_, sent = conn.Write([]byte("anyone?"))
		_, received = conn.Read(make([]byte, 1))
		return conn.Close()
	})
	return sent, received
}
