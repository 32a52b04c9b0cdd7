package health

import (
	"net/netip"
	"slices"
)

// spot is a place where the port of a Service should listen.
type spot struct {
	at netip.AddrPort
	// missing says that the family has no address to listen on; at is the
	// unspecified one then, and never tried.
	missing bool
}

// distinct sorts addresses and leaves out invalid ones, doubles, and those that
// the unspecified address of their family includes.
func distinct(addrs []netip.Addr) []netip.Addr {
	var out []netip.Addr
	all := make(map[bool]bool) // by Is4
	for _, a := range addrs {
		if a = a.Unmap(); a.IsValid() {
			all[a.Is4()] = all[a.Is4()] || a.IsUnspecified()
			out = append(out, a)
		}
	}
	out = slices.DeleteFunc(out, func(a netip.Addr) bool { return all[a.Is4()] && !a.IsUnspecified() })
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

// spots returns where a spec should listen.
func spots(spec Spec, addrs []netip.Addr) []spot {
	if spec.Port == 0 {
		return nil
	}
	var out []spot
	for _, unspecified := range []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
		if !spec.family(unspecified).Served {
			continue
		}
		found := false
		for _, a := range addrs {
			if a.Is4() == unspecified.Is4() {
				found = true
				out = append(out, spot{at: netip.AddrPortFrom(a, spec.Port)})
			}
		}
		if !found {
			out = append(out, spot{at: netip.AddrPortFrom(unspecified, spec.Port), missing: true})
		}
	}
	return out
}

// network returns the word of package net for TCP in the family of an address.
func network(a netip.Addr) string {
	if a.Is4() {
		return "tcp4"
	}
	return "tcp6"
}

func compareNames(a, b Name) int {
	if a.Namespace != b.Namespace {
		if a.Namespace < b.Namespace {
			return -1
		}
		return 1
	}
	switch {
	case a.Name < b.Name:
		return -1
	case a.Name > b.Name:
		return 1
	}
	return 0
}
