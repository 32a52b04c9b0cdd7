package agent

import (
	"net/netip"
	"slices"

	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/nft"
	"github.com/nearside/nearside/selector"
)

// plan turns the selection of a service into the content of one family's table.
// A service without a port in that family has no frontends.
func (s *selection) plan(f nft.Family, node selector.Node) nft.Service {
	planned := nft.Service{Name: s.service.Name.String(), Rank: s.service.Created.Unix()}
	for i := range s.service.Ports {
		port := &s.service.Ports[i]
		if nft.FamilyOf(port.ClusterIP.Addr()) != f {
			continue
		}
		planned.Frontends = append(planned.Frontends, nft.Frontend{
			Port:     port.Port.Name,
			Addr:     port.ClusterIP,
			Protocol: protocolOf(port.Port.Protocol),
			Backends: planBackends(port, &s.ports[i], node),
			Empty:    verdictOf(s.ports[i].Empty),
			Sticky:   sticky(port),
		})
		planned.Frontends = append(planned.Frontends, s.planExternal(i, node)...)
	}
	return planned
}

func planBackends(port *informer.ServicePort, sel *selector.Selection, node selector.Node) []nft.Backend {
	if len(sel.Backends) == 0 {
		return nil
	}
	backends := make([]nft.Backend, len(sel.Backends))
	for i, b := range sel.Backends {
		backends[i] = nft.Backend{Addr: b.Addr, Weight: b.Weight, Local: isLocal(port.Endpoints, b.Addr, node)}
	}
	return backends
}

// isLocal looks an address up in endpoints, which are in address order.
func isLocal(endpoints []selector.Endpoint, addr netip.AddrPort, node selector.Node) bool {
	i, found := slices.BinarySearchFunc(endpoints, addr, func(e selector.Endpoint, a netip.AddrPort) int {
		return e.Addr.Compare(a)
	})
	return found && endpoints[i].LocalTo(node)
}

// protocolOf translates a protocol of the Service API. The informer lets no
// others pass; the table refuses the zero protocol.
func protocolOf(name string) nft.Protocol {
	switch name {
	case "TCP":
		return nft.TCP
	case "UDP":
		return nft.UDP
	case "SCTP":
		return nft.SCTP
	}
	return 0
}

func verdictOf(v selector.Verdict) nft.Verdict {
	if v == selector.Drop {
		return nft.Drop
	}
	return nft.Reject
}
