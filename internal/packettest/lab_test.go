package packettest

import (
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func nftLoad(t testing.TB, l *Lab, rules string) {
	t.Helper()
	cmd := exec.Command("nft", "-f", "-")
	cmd.Stdin = strings.NewReader(rules)
	var out strings.Builder
	cmd.Stderr = &out
	require.NoError(t, l.Node.Start(cmd))
	require.NoError(t, cmd.Wait(), out.String())
}

// everySource is one source of each kind.
var everySource = []Source{Pod("10.1.1.50"), Outside("198.51.100.7"), Outside("10.1.2.5"), Host(), HostAt("192.0.2.12")}

// dial is an address and port in the way that a protocol has them.
func dial(addr string, p Protocol) netip.AddrPort {
	a := To(addr)
	if p == ICMP {
		return netip.AddrPortFrom(a.Addr(), 0)
	}
	return a
}

// inBothFamilies returns a probe and its twin.
func inBothFamilies(p Probe) map[string]Probe {
	return map[string]Probe{"ip": p, "ip6": p.Twin()}
}

func TestWithoutRulesEverythingPassesUntouched(t *testing.T) {
	lab := New(t, Options{})
	places := map[string]Side{
		"10.96.0.10:80":   World, // no rule, so it follows the default route
		"203.0.113.9:443": World,
		"10.1.1.77:8080":  Pods,
		"192.0.2.11:8080": Node,
		"192.0.2.12:8080": Node,
	}
	for to, side := range places {
		for _, from := range everySource {
			for _, proto := range protocols {
				t.Run(fmt.Sprintf("%v from %v to %s", proto, from, to), func(t *testing.T) {
					for family, p := range inBothFamilies(Probe{From: from, To: dial(to, proto), Proto: proto}) {
						t.Run(family, func(t *testing.T) {
							got := lab.Probe(t, p)
							require.Equal(t, Untouched, got.Kind)
							require.Equal(t, p.To, got.To)
							require.Equal(t, side, got.Via)
							require.False(t, got.Masqueraded)
							if p.From.Addr.IsValid() {
								require.Equal(t, p.From.Addr, got.Source.Addr())
							}
						})
					}
				})
			}
		}
	}
}

// someRules drop, refuse and translate by port, for both families.
const someRules = `table inet some {
	chain prerouting {
		type nat hook prerouting priority dstnat
		jump ports
	}
	chain output {
		type nat hook output priority -100
		jump ports
	}
	chain ports {
		meta l4proto { tcp, udp, sctp } th dport 81 meta nfproto ipv4 dnat ip to 10.1.2.5:8080
		meta l4proto { tcp, udp, sctp } th dport 81 meta nfproto ipv6 dnat ip6 to [fd00:10:1:2::5]:8080
		th dport 82 drop
		th dport 83 meta l4proto tcp reject with tcp reset
		th dport 83 reject
		th dport 84 reject with icmpx admin-prohibited
	}
	chain postrouting {
		type nat hook postrouting priority srcnat
		ct status dnat masquerade fully-random
	}
}
`

func TestOutcomesAreToldApart(t *testing.T) {
	lab := New(t, Options{})
	nftLoad(t, lab, someRules)
	for _, from := range everySource {
		for _, proto := range []Protocol{TCP, UDP, SCTP} {
			probe := func(port uint16) Probe {
				return Probe{From: from, To: netip.AddrPortFrom(netip.MustParseAddr("10.96.0.10"), port), Proto: proto}
			}
			t.Run(fmt.Sprintf("%v from %v", proto, from), func(t *testing.T) {
				for family, p := range inBothFamilies(probe(81)) {
					t.Run(family, func(t *testing.T) {
						got := lab.Probe(t, p)
						for range 3 {
							// Where masquerade gives the address back that was there, only
							// the port tells, which is a random one and may be the same.
							if !got.Masqueraded {
								got = lab.Probe(t, p)
							}
						}
						require.Equal(t, Delivered, got.Kind, got)
						require.Equal(t, uint16(8080), got.To.Port())
						require.Equal(t, World, got.Via)
						require.True(t, got.Masqueraded, got)
						require.Equal(t, lab.NodeAddr(p.To.Addr()), got.Source.Addr())
					})
				}
				for family, p := range inBothFamilies(probe(82)) {
					t.Run(family, func(t *testing.T) {
						require.Equal(t, Dropped, lab.Probe(t, p).Kind)
					})
				}
				for family, p := range inBothFamilies(probe(83)) {
					t.Run(family, func(t *testing.T) {
						got := lab.Probe(t, p)
						require.Equal(t, Refused, got.Kind)
						require.Equal(t, map[Protocol]Refusal{TCP: Reset, UDP: PortUnreachable, SCTP: PortUnreachable}[proto], got.Refusal)
					})
				}
				for family, p := range inBothFamilies(probe(84)) {
					t.Run(family, func(t *testing.T) {
						require.Equal(t, OtherUnreachable, lab.Probe(t, p).Refusal)
					})
				}
			})
		}
	}
}

func TestConversationsGoOn(t *testing.T) {
	lab := New(t, Options{})
	nftLoad(t, lab, someRules)
	for _, from := range everySource {
		for _, proto := range []Protocol{TCP, UDP, SCTP} {
			if from.Side == Node && proto == TCP {
				continue // see Again
			}
			t.Run(fmt.Sprintf("%v from %v", proto, from), func(t *testing.T) {
				for family, p := range inBothFamilies(Probe{From: from, To: To("10.96.0.10:81"), Proto: proto}) {
					t.Run(family, func(t *testing.T) {
						first := lab.Probe(t, p)
						repeated := lab.Again(t, first)
						require.Equal(t, Delivered, repeated.Kind)
						require.Equal(t, first.Source, repeated.Source, "repeated before the answer")
						for range 3 {
							answer := lab.Reply(t, first)
							require.Equal(t, Delivered, answer.Kind)
							require.Equal(t, p.To, answer.Source, "the client hears from the one it dialled")
							require.Equal(t, from.Side, answer.Via)
							later := lab.Again(t, first)
							require.Equal(t, Delivered, later.Kind)
							require.Equal(t, first.To, later.To)
							require.Equal(t, first.Source, later.Source)
						}
					})
				}
			})
		}
	}
}

func TestSourcePortsAreFreshAfterAllWereUsed(t *testing.T) {
	lab := New(t, Options{})
	nftLoad(t, lab, someRules)
	p := Probe{From: Pod("10.1.1.50"), To: To("10.96.0.10:81"), Proto: UDP}
	require.Equal(t, To("10.1.2.5:8080"), lab.Probe(t, p).To)
	lab.ports[UDP] = portCount
	nftLoad(t, lab, "flush chain inet some ports")
	require.Equal(t, Untouched, lab.Probe(t, p).Kind, "the port's earlier connection is forgotten")
	require.Equal(t, 1, lab.ports[UDP])
}

func TestASourcePortMayBeChosen(t *testing.T) {
	lab := New(t, Options{})
	got := lab.Probe(t, Probe{From: Pod("10.1.1.50"), To: To("10.96.0.10:81"), Proto: UDP, SourcePort: 53})
	require.Equal(t, To("10.1.1.50:53"), got.Source)
}

func TestBoundAddressesHaveARealNetworkStack(t *testing.T) {
	lab := New(t, Options{})
	nftLoad(t, lab, someRules)
	server := netip.MustParseAddrPort("10.1.2.5:8080")
	client := netip.MustParseAddr("10.1.1.50")
	require.NoError(t, lab.Bind(World, server.Addr(), Twin(server.Addr())))
	require.NoError(t, lab.Bind(Pods, client, Twin(client)))
	for _, v6 := range []bool{false, true} {
		server, client, dialled := server, client, To("10.96.0.10:81")
		if v6 {
			server, client, dialled = TwinPort(server), Twin(client), TwinPort(dialled)
		}
		var listener net.Listener
		lab.World.Must(t, func() (err error) {
			listener, err = net.Listen("tcp", server.String())
			return err
		})
		go func() {
			conn, err := listener.Accept()
			if err == nil {
				_, _ = conn.Write([]byte("hello"))
				_ = conn.Close()
			}
		}()
		lab.Pods.Must(t, func() error {
			dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: client.AsSlice()}, Timeout: 5 * time.Second}
			conn, err := dialer.Dial("tcp", dialled.String())
			if err != nil {
				return err
			}
			b := make([]byte, 5)
			_, err = conn.Read(b)
			require.NoError(t, err)
			require.Equal(t, "hello", string(b))
			return conn.Close()
		})
		require.NoError(t, listener.Close())
	}
}
