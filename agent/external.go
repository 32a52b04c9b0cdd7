package agent

import (
	"net/netip"
	"slices"

	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/nft"
	"github.com/nearside/nearside/selector"
)

// externalSelection is the answer for what clients outside dial of a service
// port: its node port, load-balancer and external addresses.
type externalSelection struct {
	// inside is for everyone or, where outside is there too, for pods and this
	// node, which reach every endpoint as if they had left the cluster and come
	// back through the load balancer (P3, P4).
	inside selector.Selection
	// outside is for clients outside under externalTrafficPolicy Local; nil
	// under Cluster.
	outside *selector.Selection
}

func hasExternal(p *informer.ServicePort) bool {
	return p.NodePort != 0 || len(p.ExternalIPs) > 0 || len(p.LoadBalancerIPs) > 0
}

// selectExternal asks about clients outside; nil for a port they cannot dial.
func (p *policy) selectExternal(port *informer.ServicePort, env environment) *externalSelection {
	if !hasExternal(port) {
		return nil
	}
	inside, outside := env.externalRequests(port)
	sel := &externalSelection{inside: p.selector.Select(inside)}
	if outside != nil {
		answer := p.selector.Select(outside)
		sel.outside = &answer
	}
	return sel
}

// externalRequests are the questions that externalSelection holds the answers
// to.
func (e environment) externalRequests(port *informer.ServicePort) (inside, outside *selector.Request) {
	inside = e.request(port)
	inside.Traffic = selector.External
	if port.Port.External == selector.PolicyLocal {
		outside = new(*inside)
		inside.Port.External = selector.PolicyCluster
	}
	return inside, outside
}

// planExternal returns the frontends of a service port that clients outside
// dial.
func (s *selection) planExternal(i int, node selector.Node) []nft.Frontend {
	port, sel := &s.service.Ports[i], s.external[i]
	if sel == nil {
		return nil
	}
	base := nft.Frontend{
		Port:     port.Port.Name,
		Protocol: protocolOf(port.Port.Protocol),
		Kind:     nft.External,
		Backends: planBackends(port, &sel.inside, node),
		Empty:    verdictOf(sel.inside.Empty),
		Sticky:   sticky(port),
	}
	if sel.outside != nil {
		base.Outside = &nft.Pool{Backends: planBackends(port, sel.outside, node), Empty: verdictOf(sel.outside.Empty)}
	}
	var frontends []nft.Frontend
	add := func(addr netip.Addr, number uint16, sources []netip.Prefix) {
		fe := base
		fe.Addr, fe.Sources = netip.AddrPortFrom(addr, number), sources
		frontends = append(frontends, fe)
	}
	number := port.ClusterIP.Port()
	if port.NodePort != 0 {
		add(unspecified(port.ClusterIP.Addr()), port.NodePort, nil)
	}
	sources := allowedSources(port, s.nodeAddrs)
	for _, ip := range port.LoadBalancerIPs {
		add(ip, number, sources)
	}
	for _, ip := range port.ExternalIPs {
		if !slices.Contains(port.LoadBalancerIPs, ip) {
			add(ip, number, nil)
		}
	}
	return frontends
}

// allowedSources are those that may dial the load-balancer addresses of a port;
// none means everyone. Where this node may, the addresses themselves may too: a
// node that holds one on an interface dials it from that very address (LB4).
func allowedSources(port *informer.ServicePort, nodeAddrs []netip.Addr) []netip.Prefix {
	nodeMay := slices.ContainsFunc(port.SourceRanges, func(r netip.Prefix) bool {
		return slices.ContainsFunc(nodeAddrs, r.Contains)
	})
	if !nodeMay {
		return port.SourceRanges
	}
	sources := slices.Clone(port.SourceRanges)
	for _, ip := range port.LoadBalancerIPs {
		if !slices.ContainsFunc(sources, func(r netip.Prefix) bool { return r.Contains(ip) }) {
			sources = append(sources, netip.PrefixFrom(ip, ip.BitLen()))
		}
	}
	return sources
}

// unrestricted returns a port whose load-balancer addresses everyone may dial
// although the Service restricts those of its other IP family, or nil (LB3).
func unrestricted(s *informer.Service) *informer.ServicePort {
	restricted := slices.ContainsFunc(s.Ports, func(p informer.ServicePort) bool { return len(p.SourceRanges) > 0 })
	if !restricted {
		return nil
	}
	for i := range s.Ports {
		if p := &s.Ports[i]; len(p.SourceRanges) == 0 && len(p.LoadBalancerIPs) > 0 {
			return p
		}
	}
	return nil
}

// unspecified returns the address that stands for all of a family, which makes
// a frontend a node port.
func unspecified(like netip.Addr) netip.Addr {
	if like.Is4() {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

// sticky returns how long a service port remembers its clients; all its
// frontends do so together (S2).
func sticky(port *informer.ServicePort) *nft.Sticky {
	if port.Port.Affinity <= 0 {
		return nil
	}
	return &nft.Sticky{Group: port.Port.Name, Timeout: port.Port.Affinity}
}
