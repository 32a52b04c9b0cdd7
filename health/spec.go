package health

import (
	"net/netip"

	"github.com/nearside/nearside/selector"
)

// Name identifies a Service.
type Name struct{ Namespace, Name string }

// String returns "namespace/name".
func (n Name) String() string { return n.Namespace + "/" + n.Name }

// Spec says what is served for one Service.
type Spec struct {
	// Port is spec.healthCheckNodePort. Zero serves nothing.
	Port uint16
	// IPv4 and IPv6 are the IP families of the Service.
	IPv4, IPv6 Family
}

// Family is one IP family of a Service.
type Family struct {
	// Served says that the Service has this family, so that its port listens in
	// it. Leave it false on a node whose kernel lacks the family.
	Served bool
	// LocalEndpoints is the number of ready endpoints on this node, as
	// CountLocal counts them.
	LocalEndpoints int
}

// family returns what is served at an address.
func (s *Spec) family(a netip.Addr) Family {
	if a.Is4() {
		return s.IPv4
	}
	return s.IPv6
}

// listensLike reports whether both specs need the same listeners.
func (s *Spec) listensLike(o *Spec) bool {
	return s.Port == o.Port && s.IPv4.Served == o.IPv4.Served && s.IPv6.Served == o.IPv6.Served
}

// CountLocal counts the endpoints of a Service that are ready and on the given
// node: the different IP addresses among the endpoints of all its ports, which
// should be those of one IP family. Endpoints that only serve while they
// terminate do not count, so that load balancers move on while the node still
// answers what they send (KEP-1669).
func CountLocal(node string, ports ...[]selector.Endpoint) int {
	here := selector.Node{Name: node}
	seen := make(map[netip.Addr]struct{})
	for _, endpoints := range ports {
		for i := range endpoints {
			if e := &endpoints[i]; e.Ready && e.LocalTo(here) {
				seen[e.Addr.Addr()] = struct{}{}
			}
		}
	}
	return len(seen)
}
