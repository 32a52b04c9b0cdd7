package informer

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/nearside/nearside/selector"
)

// join builds the value of one Service out of its record and its slices. The
// order of the slices does not matter.
func join(n Name, record *service, parts []*slice) *Service {
	out := &Service{
		Name:    n,
		Created: record.created,
		Policy:  record.policy,

		HealthCheckPort: record.healthCheckPort,
		Ports:           make([]ServicePort, 0, len(record.ports)*len(record.clusterIPs)),
	}
	for _, p := range record.ports {
		for _, ip := range record.clusterIPs {
			out.Ports = append(out.Ports, ServicePort{
				Port: selector.ServicePort{
					Namespace: n.Namespace, Service: n.Name, Name: p.name, Protocol: p.protocol,
					Internal: record.internal, External: record.external,
					Distribution: record.distribution, Affinity: record.affinity,
				},
				ClusterIP:       netip.AddrPortFrom(ip, p.port),
				NodePort:        p.nodePort,
				ExternalIPs:     ofFamily(record.externalIPs, ip.Is6()),
				LoadBalancerIPs: ofFamily(record.loadBalancerIPs, ip.Is6()),
				SourceRanges:    rangesOfFamily(record.sourceRanges, ip.Is6()),
				Endpoints:       merge(parts, p, ip.Is6()),
			})
		}
	}
	return out
}

// ofFamily returns the part of a sorted list that is of one family. IPv4
// addresses come before IPv6 addresses.
func ofFamily(list []netip.Addr, v6 bool) []netip.Addr {
	split := slices.IndexFunc(list, netip.Addr.Is6)
	if split < 0 {
		split = len(list)
	}
	if v6 {
		return list[split:]
	}
	return list[:split:split]
}

// rangesOfFamily is ofFamily for prefixes.
func rangesOfFamily(list []netip.Prefix, v6 bool) []netip.Prefix {
	var out []netip.Prefix
	for _, p := range list {
		if p.Addr().Is6() == v6 {
			out = append(out, p)
		}
	}
	return out
}

// found is an endpoint with one of the ports it has in its slice.
type found struct {
	addr netip.AddrPort
	*endpoint
}

// merge makes the endpoint list of one port in one family: the union over all
// slices of addresses and ports of that name and protocol (A6, E1), each
// address and port once (E5), in order.
func merge(parts []*slice, p servicePort, v6 bool) []selector.Endpoint {
	var all []found
	sources := 0
	for _, part := range parts {
		if part.v6 != v6 {
			continue
		}
		for _, sp := range part.ports {
			if sp.name != p.name || sp.protocol != p.protocol {
				continue
			}
			sources++
			all = slices.Grow(all, len(part.endpoints))
			for i := range part.endpoints {
				e := &part.endpoints[i]
				all = append(all, found{netip.AddrPortFrom(e.addr, sp.port), e})
			}
		}
	}
	if sources > 1 { // one slice is in order, and without duplicates, as it is
		slices.SortFunc(all, func(a, b found) int {
			return cmp.Or(a.addr.Compare(b.addr), prefer(a.endpoint, b.endpoint))
		})
		all = slices.CompactFunc(all, func(a, b found) bool { return a.addr == b.addr })
	}
	out := make([]selector.Endpoint, len(all))
	for i, f := range all {
		h := f.hint()
		out[i] = selector.Endpoint{
			Addr: f.addr, Node: f.node.Value(), Zone: f.zone.Value(),
			HintNodes: h.nodes, HintZones: h.zones,
			Ready: f.ready, Serving: f.serving, Terminating: f.terminating,
		}
	}
	return out
}
