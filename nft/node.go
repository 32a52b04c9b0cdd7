package nft

import (
	"fmt"
	"net/netip"
	"slices"
)

// SetNodeAddrs sets the addresses on which node ports are served. Addresses of
// the other family are passed over, so that both tables can be given all.
// Loopback addresses are for the caller to leave out: what is served on them is
// translated, but its answers are not.
func (t *Table) SetNodeAddrs(addrs []netip.Addr) {
	wanted := make(map[[16]byte]bool, len(addrs))
	for _, a := range addrs {
		a = a.WithZone("")
		if a.IsValid() && FamilyOf(a) == t.cfg.Family && !a.IsUnspecified() {
			wanted[ipBytes(a)] = true
		}
	}
	for ip := range t.nodeAddrs {
		if !wanted[ip] {
			count(t.nodeAddrs, t.journal.nodeAddrs, ip, -1)
		}
	}
	for ip := range wanted {
		if t.nodeAddrs[ip] == 0 {
			count(t.nodeAddrs, t.journal.nodeAddrs, ip, 1)
		}
	}
}

// SetServiceCIDRs sets the prefixes that ClusterIPs are taken from. Packets to
// an address in them that no service has are dropped. Prefixes of the other
// family are passed over; one that holds every address is returned as a
// problem and left out.
func (t *Table) SetServiceCIDRs(prefixes []netip.Prefix) (problems []Problem) {
	var wanted []netip.Prefix
	for _, p := range prefixes {
		switch {
		case !p.IsValid() || FamilyOf(p.Addr()) != t.cfg.Family:
		case p.Bits() == 0:
			problems = append(problems, Problem{Object: fmt.Sprintf("service CIDR %v", p), Reason: "it holds every address"})
		default:
			wanted = append(wanted, p.Masked())
		}
	}
	slices.SortFunc(wanted, netip.Prefix.Compare)
	wanted = slices.Compact(wanted)
	if !slices.Equal(wanted, t.serviceCIDRs) {
		t.serviceCIDRs = wanted
		t.journal.servicesChain = true
	}
	return problems
}
