package informer

import (
	"net/netip"
	"strconv"
	"strings"
)

// maxIPText bounds what is looked at as an address. The longest IPv6 text has
// 45 characters; leading zeros may add to that.
const maxIPText = 128

// parseIP reads an address the way the Service API has always read it: numbers
// may have leading zeros, which are decimal in IPv4 ("010.0.0.1" is 10.0.0.1).
// Strict parsers refuse that, but objects stored by old releases contain it.
//
// An IPv4-mapped IPv6 address ("::ffff:10.0.0.1") is the IPv4 address it
// wraps, again as the API has it. Zones ("fe80::1%eth0") are refused.
func parseIP(text string) (netip.Addr, bool) {
	if len(text) == 0 || len(text) > maxIPText || strings.Contains(text, "%") {
		return netip.Addr{}, false
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		addr, err = netip.ParseAddr(stripZeros(text))
	}
	if err != nil {
		return netip.Addr{}, false
	}
	return addr.Unmap(), true
}

// stripZeros removes the leading zeros of each number in an address.
func stripZeros(text string) string {
	out := make([]byte, 0, len(text))
	start := true // at the start of a number
	for i := range len(text) {
		c := text[i]
		if c == '.' || c == ':' {
			out, start = append(out, c), true
			continue
		}
		if start && c == '0' && i+1 < len(text) && text[i+1] != '.' && text[i+1] != ':' {
			continue
		}
		out, start = append(out, c), false
	}
	return string(out)
}

// endpointAddr reads the address of an endpoint in a slice of the given
// family. A reason says why it cannot be used.
//
// What the API server refuses in an EndpointSlice (ValidateEndpointIP) is
// refused here: unspecified, loopback and link-local addresses, which would
// lead a client's connection to somewhere else on every node. All multicast and
// the broadcast address are refused too; no connection can be made to them.
func endpointAddr(text string, v6 bool) (addr netip.Addr, reason string) {
	addr, ok := parseIP(text)
	switch {
	case !ok:
		return addr, "is not an IP address"
	case addr.Is6() != v6:
		return addr, "is not of the slice's address type"
	case addr.IsLinkLocalUnicast():
		return addr, "is a link-local address"
	}
	return addr, unusable(addr)
}

// serviceAddr reads an address that clients dial. A reason says why it cannot
// be used. Link-local addresses are fine here: they exist on one node, and so
// do the rules.
func serviceAddr(text string) (addr netip.Addr, reason string) {
	addr, ok := parseIP(text)
	if !ok {
		return addr, "is not an IP address"
	}
	return addr, unusable(addr)
}

// parsePrefix reads a CIDR as sloppily as parseIP reads addresses. Bits behind
// the prefix are dropped.
func parsePrefix(text string) (p netip.Prefix, reason string) {
	const notPrefix = "is not a prefix such as 10.0.0.0/8"
	network, length, ok := strings.Cut(text, "/")
	if !ok {
		return p, notPrefix
	}
	addr, ok := parseIP(network)
	bits, err := strconv.ParseUint(length, 10, 8)
	if !ok || err != nil {
		return p, notPrefix
	}
	if addr.Is4() && strings.Contains(network, ":") {
		bits -= min(bits, 96) // of an address that was mapped into IPv6
	}
	if p, err = addr.Prefix(int(bits)); err != nil {
		return netip.Prefix{}, notPrefix
	}
	return p, ""
}

var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

func unusable(addr netip.Addr) (reason string) {
	switch {
	case addr.IsUnspecified():
		return "is the unspecified address"
	case addr.IsLoopback():
		return "is a loopback address"
	case addr.IsMulticast():
		return "is a multicast address"
	case addr == broadcast:
		return "is the broadcast address"
	}
	return ""
}
