package nodeaddrs

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// table is what the kernel has told about interfaces and their addresses.
type table struct {
	links map[uint32]link
	addrs map[address]uint32 // flags
}

func newTable() *table {
	return &table{links: make(map[uint32]link), addrs: make(map[address]uint32)}
}

// apply takes over one message. Those of other types are passed over.
func (t *table) apply(m netlink.Message) error {
	switch m.Header.Type {
	case unix.RTM_NEWADDR, unix.RTM_DELADDR:
		a, flags, ok, err := parseAddr(m.Data)
		switch {
		case err != nil || !ok:
			return err
		case m.Header.Type == unix.RTM_NEWADDR:
			t.addrs[a] = flags
		default:
			delete(t.addrs, a)
		}
	case unix.RTM_NEWLINK, unix.RTM_DELLINK:
		index, l, ok, err := parseLink(m.Data)
		switch {
		case err != nil || !ok:
			return err
		case m.Header.Type == unix.RTM_NEWLINK:
			t.links[index] = l
		default:
			delete(t.links, index)
		}
	default:
	}
	return nil
}

// current returns the addresses that are this machine's now, in order, each
// once.
//
// An address that failed duplicate address detection belongs to another
// machine. A tentative one is about to be valid, and it is better served a
// second early than late; a deprecated one still takes connections. On an
// interface that is down an IPv4 address stays configured, but the kernel takes
// no packet for it: so it is with the addresses that kube-proxy's ipvs mode
// leaves on its dummy interface.
func (t *table) current() []netip.Addr {
	var out []netip.Addr
	for a, flags := range t.addrs {
		l := t.links[a.link]
		if !l.up || flags&unix.IFA_F_DADFAILED != 0 {
			continue
		}
		if a.addr.IsLinkLocalUnicast() && a.addr.Is6() {
			out = append(out, a.addr.WithZone(l.name))
			continue
		}
		out = append(out, a.addr)
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

func (t *table) equal(o *table) bool {
	return maps.Equal(t.links, o.links) && maps.Equal(t.addrs, o.addrs)
}
