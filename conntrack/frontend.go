package conntrack

import "net/netip"

// Frontend is an address and UDP port that clients dial and that has changed:
// it appeared, vanished, or gained or lost endpoints.
type Frontend struct {
	// Addr is what is dialled. The unspecified address (0.0.0.0 or ::) stands for
	// the node's own addresses of that family: a node port.
	Addr netip.AddrPort
	// Serving are the endpoints that flows may stay with: every endpoint that is
	// usable or still serves, whatever readiness, policy and topology say. It is
	// empty for a frontend that has vanished, or that nobody serves. Of two
	// frontends with the same address, flows may stay with the endpoints of both.
	Serving []netip.AddrPort
}

// target is a changed frontend in the terms of a flow.
type target struct {
	lists [][]netip.AddrPort
	// serving holds lists once a flow has asked for them: a service with many
	// endpoints and no flows then costs nothing.
	serving map[netip.AddrPort]bool
}

func (t *target) serves(endpoint netip.AddrPort) bool {
	if t.serving == nil {
		t.serving = map[netip.AddrPort]bool{}
		for _, list := range t.lists {
			for _, e := range list {
				t.serving[plain(e)] = true
			}
		}
	}
	return t.serving[endpoint]
}

// targets are the changed frontends by what is dialled.
type targets map[netip.AddrPort]*target

// newTargets puts the addresses of the node in the place of node ports.
func newTargets(changed []Frontend, nodeAddrs []netip.Addr) targets {
	ts := targets{}
	for _, f := range changed {
		addr := plain(f.Addr)
		if !addr.Addr().IsUnspecified() {
			ts.add(addr, f.Serving)
			continue
		}
		for _, a := range nodeAddrs {
			if a = a.Unmap().WithZone(""); a.Is4() == addr.Addr().Is4() {
				ts.add(netip.AddrPortFrom(a, addr.Port()), f.Serving)
			}
		}
	}
	return ts
}

func (ts targets) add(addr netip.AddrPort, serving []netip.AddrPort) {
	if !addr.IsValid() {
		return
	}
	t := ts[addr]
	if t == nil {
		t = &target{}
		ts[addr] = t
	}
	t.lists = append(t.lists, serving)
}

// stale reports whether a flow was made for a frontend that has changed, and
// leads to none of its endpoints.
func (ts targets) stale(f flow) bool {
	if f.protocol != protocolUDP {
		return false
	}
	t := ts[f.dialled]
	return t != nil && !t.serves(f.answering)
}

// plain is an address as the kernel writes it.
func plain(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}
