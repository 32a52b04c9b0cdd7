package nodeaddrs

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Sizes of the fixed parts of messages (linux/if_addr.h, linux/rtnetlink.h).
const (
	addrHeader = 8  // struct ifaddrmsg: family, prefix length, flags, scope; index
	linkHeader = 16 // struct ifinfomsg: family, -, type; index; flags; change
)

// withoutStats is RTEXT_FILTER_SKIP_STATS (linux/rtnetlink.h): leave out the
// statistics, which are the greater part of an interface.
const withoutStats = 1 << 3

// address is one address on one interface.
type address struct {
	link uint32 // index of the interface
	addr netip.Addr
	bits uint8
}

// link is what counts of an interface.
type link struct {
	name string
	up   bool // set up by the administrator, with or without carrier
}

// parseAddr reads RTM_NEWADDR and RTM_DELADDR. ok is false for families that
// are neither IPv4 nor IPv6.
func parseAddr(data []byte) (a address, flags uint32, ok bool, err error) {
	if len(data) < addrHeader {
		return address{}, 0, false, fmt.Errorf("parse address message: %d bytes, expected at least %d", len(data), addrHeader)
	}
	if family := data[0]; family != unix.AF_INET && family != unix.AF_INET6 {
		return address{}, 0, false, nil
	}
	a.bits, flags = data[1], uint32(data[2])
	a.link = binary.NativeEndian.Uint32(data[4:])
	ad, err := netlink.NewAttributeDecoder(data[addrHeader:])
	if err != nil {
		return address{}, 0, false, fmt.Errorf("parse address message: %w", err)
	}
	var own, peer netip.Addr
	for ad.Next() {
		switch ad.Type() {
		case unix.IFA_LOCAL:
			own, _ = netip.AddrFromSlice(ad.Bytes())
		case unix.IFA_ADDRESS:
			peer, _ = netip.AddrFromSlice(ad.Bytes())
		case unix.IFA_FLAGS:
			flags = ad.Uint32() // the whole of them; the header has room for eight
		}
	}
	if err := ad.Err(); err != nil {
		return address{}, 0, false, fmt.Errorf("parse address message: %w", err)
	}
	// On a link between two, IFA_ADDRESS is the other end. IPv6 has IFA_LOCAL
	// only there.
	if a.addr = own; !own.IsValid() {
		a.addr = peer
	}
	if !a.addr.IsValid() || a.addr.Is4() != (data[0] == unix.AF_INET) {
		return address{}, 0, false, fmt.Errorf("parse address message: no address of family %d in it", data[0])
	}
	return a, flags, true, nil
}

// parseLink reads RTM_NEWLINK and RTM_DELLINK. ok is false for messages that
// are about something else than the interface itself, such as its place in a
// bridge, whose end comes as RTM_DELLINK too.
func parseLink(data []byte) (index uint32, l link, ok bool, err error) {
	if len(data) < linkHeader {
		return 0, link{}, false, fmt.Errorf("parse link message: %d bytes, expected at least %d", len(data), linkHeader)
	}
	if data[0] != unix.AF_UNSPEC {
		return 0, link{}, false, nil
	}
	index = binary.NativeEndian.Uint32(data[4:])
	l.up = binary.NativeEndian.Uint32(data[8:])&unix.IFF_UP != 0
	ad, err := netlink.NewAttributeDecoder(data[linkHeader:])
	if err != nil {
		return 0, link{}, false, fmt.Errorf("parse link message: %w", err)
	}
	for ad.Next() {
		if ad.Type() == unix.IFLA_IFNAME {
			l.name = ad.String()
		}
	}
	if err := ad.Err(); err != nil {
		return 0, link{}, false, fmt.Errorf("parse link message: %w", err)
	}
	return index, l, true, nil
}

// dumpRequests ask for all interfaces and for all addresses, in this order.
func dumpRequests() ([]netlink.Message, error) {
	attrs := netlink.NewAttributeEncoder()
	attrs.Uint32(unix.IFLA_EXT_MASK, withoutStats)
	mask, err := attrs.Encode()
	if err != nil {
		return nil, fmt.Errorf("encode request for interfaces: %w", err)
	}
	dump := netlink.Request | netlink.Dump
	return []netlink.Message{
		{Header: netlink.Header{Type: unix.RTM_GETLINK, Flags: dump}, Data: append(make([]byte, linkHeader), mask...)},
		{Header: netlink.Header{Type: unix.RTM_GETADDR, Flags: dump}, Data: make([]byte, addrHeader)},
	}, nil
}
