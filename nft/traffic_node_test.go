package nft_test

import (
	"context"
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/internal/packettest"
	"github.com/nearside/nearside/nft"
)

// The cluster in which the traffic tests play, in IPv4 as they are written; in
// IPv6 everyone has the address that packettest.Twin gives them.
//
//	10.1.0.0/16     pods, those of 10.1.1.0/24 on this node
//	192.0.2.11, 12  this node; 11 is on its link to the world
//	10.1.1.1        this node on its link to the pods
//	198.51.100.7    a client outside the cluster
var (
	podCIDR    = netip.MustParsePrefix("10.1.0.0/16")
	onWorld    = netip.MustParseAddr("192.0.2.11")
	onPods     = netip.MustParseAddr("10.1.1.1")
	aPod       = packettest.Pod("10.1.1.50")
	farPod     = packettest.Outside("10.1.2.50")
	aClient    = packettest.Outside("198.51.100.7")
	theNode    = packettest.HostAt("192.0.2.12")
	transports = []packettest.Protocol{packettest.TCP, packettest.UDP, packettest.SCTP}
)

// knowledge is what an agent was told about whom to masquerade.
type knowledge string

const (
	podsKnown      knowledge = "pods known by their addresses"
	podsUnknown    knowledge = "pods unknown"
	masqueradesAll knowledge = "pods known, everyone masqueraded"
	podsByLink     knowledge = "pods known by their interface"
	podsByLinks    knowledge = "pods known by the beginning of their interface's name"
)

func (k knowledge) config(f nft.Family) nft.Config {
	cfg := nft.Config{Family: f, MasqueradeAll: k == masqueradesAll}
	switch k {
	case podsKnown, masqueradesAll:
		cfg.ClusterCIDR = prefixIn(f, podCIDR)
	case podsByLink:
		cfg.PodInterface = "pods"
	case podsByLinks:
		cfg.PodInterfacePrefix = "po"
	case podsUnknown:
	}
	return cfg
}

// service is a service with one frontend, the same in all three protocols.
// Endpoints that begin with "@" are on this node.
func service(frontend string, endpoints ...string) nft.Service {
	s := nft.Service{Name: "demo/" + frontend}
	for _, p := range transports {
		s.Frontends = append(s.Frontends, speaking(p, frontend, endpoints...))
	}
	return s
}

func speaking(p packettest.Protocol, frontend string, endpoints ...string) nft.Frontend {
	f := nft.Frontend{Addr: netip.MustParseAddrPort(frontend), Protocol: nft.Protocol(p)}
	for _, e := range endpoints {
		b := nft.Backend{Weight: 1}
		if e[0] == '@' {
			b.Local, e = true, e[1:]
		}
		b.Addr = netip.MustParseAddrPort(e)
		f.Backends = append(f.Backends, b)
	}
	return f
}

// silent is a service without endpoints that drops instead of refusing.
func silent(s nft.Service) nft.Service {
	for i := range s.Frontends {
		s.Frontends[i].Empty = nft.Drop
	}
	return s
}

// external makes a service's frontends ones for clients outside: whoever
// connects is masqueraded.
func external(s nft.Service) nft.Service {
	for i := range s.Frontends {
		s.Frontends[i].Kind = nft.External
	}
	return s
}

// localOutside makes a service external, and gives clients outside endpoints of
// their own: those on this node, or silence.
func localOutside(s nft.Service, endpoints ...string) nft.Service {
	s = external(s)
	for i := range s.Frontends {
		pool := speaking(packettest.TCP, webIP, endpoints...).Backends
		s.Frontends[i].Outside = &nft.Pool{Backends: pool, Empty: nft.Drop}
	}
	return s
}

// allowing lets only some sources connect.
func allowing(s nft.Service, prefixes ...string) nft.Service {
	for i := range s.Frontends {
		for _, p := range prefixes {
			s.Frontends[i].Sources = append(s.Frontends[i].Sources, netip.MustParsePrefix(p))
		}
	}
	return s
}

// in gives a service in IPv4 the addresses of a family.
func in(f nft.Family, s nft.Service) nft.Service {
	frontends := make([]nft.Frontend, len(s.Frontends))
	for i, fe := range s.Frontends {
		fe.Addr = inFamily(f, fe.Addr)
		fe.Backends = backendsIn(f, fe.Backends)
		if fe.Outside != nil {
			fe.Outside = &nft.Pool{Backends: backendsIn(f, fe.Outside.Backends), Empty: fe.Outside.Empty}
		}
		sources := make([]netip.Prefix, len(fe.Sources))
		for j, p := range fe.Sources {
			sources[j] = prefixIn(f, p)
		}
		fe.Sources = sources
		frontends[i] = fe
	}
	s.Frontends = frontends
	return s
}

func backendsIn(f nft.Family, backends []nft.Backend) []nft.Backend {
	of := make([]nft.Backend, len(backends))
	for i, b := range backends {
		b.Addr = inFamily(f, b.Addr)
		of[i] = b
	}
	return of
}

// inFamily gives an address in IPv4 its form in a family.
func inFamily(f nft.Family, a netip.AddrPort) netip.AddrPort {
	if f == nft.IPv4 {
		return a
	}
	return packettest.TwinPort(a)
}

// addrIn is inFamily for an address without a port.
func addrIn(f nft.Family, a netip.Addr) netip.Addr {
	return inFamily(f, netip.AddrPortFrom(a, 0)).Addr()
}

// prefixIn is inFamily for a prefix. One in IPv6 stays, whatever the family.
func prefixIn(f nft.Family, p netip.Prefix) netip.Prefix {
	if f == nft.IPv4 || p.Addr().Is6() {
		return p
	}
	return packettest.TwinPrefix(p)
}

// node is a lab whose node has a connection to nf_tables.
type node struct {
	*packettest.Lab
	conn *nft.Conn
}

func newNode(t testing.TB) *node {
	t.Helper()
	n := &node{Lab: packettest.New(t, packettest.Options{})}
	n.Node.Must(t, func() (err error) {
		n.conn, err = nft.Dial()
		return err
	})
	t.Cleanup(func() { _ = n.conn.Close() })
	return n
}

// serve makes services in IPv4 all that the node serves in a family. Node ports
// are at its addresses 192.0.2.11 and 12.
func (n *node) serve(t testing.TB, cfg nft.Config, services ...nft.Service) *nft.Table {
	t.Helper()
	return n.serveWithin(t, cfg, netip.Prefix{}, services...)
}

// serveWithin is serve where ClusterIPs are known to come from a prefix.
func (n *node) serveWithin(t testing.TB, cfg nft.Config, serviceCIDR netip.Prefix, services ...nft.Service) *nft.Table {
	t.Helper()
	_, err := n.conn.Cleanup(context.Background())
	require.NoError(t, err)
	of := make([]nft.Service, len(services))
	for i, s := range services {
		of[i] = in(cfg.Family, s)
	}
	table, problems := nft.Compile(cfg, of)
	require.Empty(t, problems)
	table.SetNodeAddrs([]netip.Addr{addrIn(cfg.Family, onWorld), addrIn(cfg.Family, theNode.Addr)})
	if serviceCIDR.IsValid() {
		require.Empty(t, table.SetServiceCIDRs([]netip.Prefix{prefixIn(cfg.Family, serviceCIDR)}))
	}
	n.commit(t, table)
	return table
}

// set changes one service, given in IPv4.
func (n *node) set(t testing.TB, table *nft.Table, s nft.Service) {
	t.Helper()
	require.Empty(t, table.Set(in(table.Family(), s)))
	n.commit(t, table)
}

func (n *node) commit(t testing.TB, table *nft.Table) {
	t.Helper()
	require.NoError(t, n.conn.Apply(context.Background(), table.Changes()))
	table.Committed()
}

// probe sends a probe, given in IPv4, in a family.
func (n *node) probe(t testing.TB, f nft.Family, p packettest.Probe) packettest.Outcome {
	t.Helper()
	if f == nft.IPv6 {
		p = p.Twin()
	}
	return n.Probe(t, p)
}

// eachTransport runs a test for each family and transport protocol.
func eachTransport(t *testing.T, test func(t *testing.T, f nft.Family, p packettest.Protocol)) {
	t.Helper()
	for _, f := range nft.Families {
		for _, p := range transports {
			t.Run(fmt.Sprintf("%v/%v", f, p), func(t *testing.T) { test(t, f, p) })
		}
	}
}
