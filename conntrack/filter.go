package conntrack

import (
	"encoding/binary"
	"maps"
	"net/netip"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// filter says which flows the kernel shall hand over: those of UDP and a family
// that were sent to an address and port, where these are given.
//
// The address is never given in IPv6. Linux up to 6.18 at least compares it the
// wrong way round: it hands over the flows to all addresses but that one
// (ctnetlink_filter_match_tuple in net/netfilter/nf_conntrack_netlink.c).
type filter struct {
	ipv6 bool
	addr netip.Addr // any, if not valid; IPv4
	port uint16     // any, if 0
}

// String returns the filter in words.
func (f filter) String() string {
	s := "IPv4 UDP flows"
	if f.ipv6 {
		s = "IPv6 UDP flows"
	}
	switch {
	case f.addr.IsValid() && f.port != 0:
		s += " to " + netip.AddrPortFrom(f.addr, f.port).String()
	case f.addr.IsValid():
		s += " to " + f.addr.String()
	case f.port != 0:
		s += " to port " + strconv.Itoa(int(f.port))
	}
	return s
}

// request is the message that asks for all flows that pass the filter.
func (f filter) request() []byte {
	flags := uint32(filterByProtocol)
	var original []byte
	if f.addr.IsValid() {
		flags |= filterByDestination
		ip := appendAttr(nil, ipDestination4, f.addr.AsSlice())
		original = appendAttr(original, tupleIP|nested, ip)
	}
	proto := appendAttr(nil, protoNumber, []byte{protocolUDP})
	if f.port != 0 {
		flags |= filterByDestinationPort
		proto = appendAttr(proto, protoDestination, binary.BigEndian.AppendUint16(nil, f.port))
	}
	original = appendAttr(original, tupleProto|nested, proto)
	bits := appendAttr(nil, filterOriginal, binary.NativeEndian.AppendUint32(nil, flags))
	return newMessage(msgGet, unix.NLM_F_DUMP, familyOf(f.ipv6),
		appendAttr(nil, attrOriginal|nested, original),
		appendAttr(nil, attrFilter|nested, bits))
}

// maxQuestions is how many lists of one family Clean asks for at most. The
// kernel walks its whole table for each, which costs an eighth to a quarter of
// handing over all of it (BenchmarkClean).
const maxQuestions = 3

// filters returns what to ask the kernel for: little more than takes in every
// target, in few questions. The frontends of a service port mostly share a
// port, but for its node port.
func (ts targets) filters() (filters []filter) {
	var families [2][]netip.AddrPort
	for addr := range ts {
		i := 0
		if addr.Addr().Is6() {
			i = 1
		}
		families[i] = append(families[i], addr)
	}
	for _, addrs := range families {
		ports := map[uint16][]netip.AddrPort{}
		for _, a := range addrs {
			ports[a.Port()] = append(ports[a.Port()], a)
		}
		if len(ports) > maxQuestions {
			filters = append(filters, common(addrs))
			continue
		}
		for _, port := range slices.Sorted(maps.Keys(ports)) {
			filters = append(filters, common(ports[port]))
		}
	}
	return filters
}

// common returns the narrowest filter that all addresses pass, of which there
// is at least one.
func common(addrs []netip.AddrPort) filter {
	first := addrs[0]
	f := filter{ipv6: first.Addr().Is6(), addr: first.Addr(), port: first.Port()}
	for _, a := range addrs {
		if f.ipv6 || a.Addr() != first.Addr() {
			f.addr = netip.Addr{}
		}
		if a.Port() != first.Port() {
			f.port = 0
		}
	}
	return f
}

func familyOf(ipv6 bool) byte {
	if ipv6 {
		return unix.AF_INET6
	}
	return unix.AF_INET
}
