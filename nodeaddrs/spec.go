package nodeaddrs

import (
	"net/netip"
	"slices"
)

// Spec says which addresses serve node ports, as --nodeport-addresses does. It
// has the fields of agent.NodePortAddresses, so that one converts to the other.
//
// IP families are apart. A family for which Spec names no prefix at all serves
// every address it has, as with kube-proxy: with Prefixes of IPv4 alone, or with
// Primary on a node without an IPv6 address in its Node object, every IPv6
// address serves the node ports of dual-stack Services. To prevent that, name a
// prefix of the other family too, or Localhost.
type Spec struct {
	// Primary stands for the Node object's first address of each family. Before
	// any address of the Node is known it stands for none, and no family falls
	// back to every address.
	Primary bool
	// Localhost stands for 127.0.0.0/8 and ::1/128. These are never served by
	// NAT, so Select leaves them out, but they keep a family from falling back.
	Localhost bool
	// All stands for every address but loopback, whatever else is named.
	All bool
	// Prefixes stand for the addresses in them. One that holds every address
	// of its family is as good as All for that family.
	Prefixes []netip.Prefix
}

var (
	localhost = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	families  = []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()}
)

// Select returns the addresses that serve node ports, in order, each once and
// without zones: those among local, the addresses on this machine's interfaces,
// that spec names, and with Primary the first of each family in node, the
// addresses of the Node object, even when no interface has it. Loopback
// addresses are never among them: they would need route_localnet, which lets
// other machines reach what listens on localhost only.
func Select(local, node []netip.Addr, spec Spec) []netip.Addr {
	var out []netip.Addr
	for _, family := range families {
		c := spec.choice(family, node)
		for _, a := range local {
			if a = plain(a); sameFamily(a, family) && c.holds(a) {
				out = append(out, a)
			}
		}
		if c.primary.IsValid() && !c.all {
			out = append(out, c.primary)
		}
	}
	out = slices.DeleteFunc(out, unfit)
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

// Listen returns the addresses on which servers for node ports should listen,
// in the form of health.Server.SetAddresses: the unspecified address of a family
// that serves all of its addresses, which includes those that come later, and
// otherwise those of local that spec names, loopback too. Link-local addresses
// keep the zone without which they cannot be listened on. A family of which
// nothing is named on an interface has no address in the answer.
func Listen(local, node []netip.Addr, spec Spec) []netip.Addr {
	var out []netip.Addr
	for _, family := range families {
		c := spec.choice(family, node)
		if c.all {
			out = append(out, family)
			continue
		}
		for _, a := range local {
			if a = a.Unmap(); sameFamily(a, family) && c.holds(a.WithZone("")) {
				out = append(out, a)
			}
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

// choice is what a Spec comes to in one family.
type choice struct {
	all      bool
	prefixes []netip.Prefix
	primary  netip.Addr // with Primary; also among the prefixes
}

func (s *Spec) choice(family netip.Addr, node []netip.Addr) choice {
	if s.All {
		return choice{all: true}
	}
	var c choice
	for _, p := range s.named() {
		if sameFamily(p.Addr(), family) {
			c.all = c.all || p.Bits() == 0
			c.prefixes = append(c.prefixes, p)
		}
	}
	if s.Primary {
		c.primary = first(node, family)
		if c.primary.IsValid() {
			c.prefixes = append(c.prefixes, netip.PrefixFrom(c.primary, c.primary.BitLen()))
		}
	}
	// Without a Node object nothing is known yet: it will name addresses.
	unknown := s.Primary && len(node) == 0
	c.all = c.all || len(c.prefixes) == 0 && !unknown
	return c
}

// named returns the prefixes that do not depend on the Node object.
func (s *Spec) named() []netip.Prefix {
	if s.Localhost {
		return append(slices.Clone(s.Prefixes), localhost...)
	}
	return s.Prefixes
}

func (c *choice) holds(a netip.Addr) bool {
	return c.all || slices.ContainsFunc(c.prefixes, func(p netip.Prefix) bool { return p.Contains(a) })
}

// first returns the first address of a family.
func first(addrs []netip.Addr, family netip.Addr) netip.Addr {
	for _, a := range addrs {
		if a = plain(a); sameFamily(a, family) {
			return a
		}
	}
	return netip.Addr{}
}

// unfit reports whether an address cannot be the destination of a client.
func unfit(a netip.Addr) bool { return a.IsLoopback() || a.IsUnspecified() || a.IsMulticast() }

// plain returns an address as it stands in packets.
func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

func sameFamily(a, b netip.Addr) bool { return a.IsValid() && a.Is4() == b.Is4() }
