package nft

import (
	"bytes"
	"net/netip"
)

// frontendKey is what a client dials, in a form without pointers: with tens of
// thousands of them in maps the garbage collector has nothing to follow.
type frontendKey struct {
	ip    [16]byte // an IPv4 address takes the first four bytes
	port  uint16
	proto Protocol
}

// isNodePort reports whether the frontend is served on the node's addresses.
func (k frontendKey) isNodePort() bool { return k.ip == [16]byte{} }

// slot is one share of a frontend's connections and the endpoint it leads to.
type slot struct {
	ip    [16]byte
	port  uint16
	local bool // the endpoint runs on this node
}

// sameTarget reports whether two slots send connections to the same place.
func (s slot) sameTarget(o slot) bool { return s.ip == o.ip && s.port == o.port }

// ipBytes lays an address out as the table's keys have it.
func ipBytes(a netip.Addr) (b [16]byte) {
	if a.Is4() {
		v4 := a.As4()
		copy(b[:], v4[:])
		return b
	}
	return a.As16()
}

// ipAddr is the inverse of ipBytes.
func (f Family) ipAddr(b [16]byte) netip.Addr {
	if f == IPv6 {
		return netip.AddrFrom16(b)
	}
	return netip.AddrFrom4([4]byte(b[:4]))
}

// unspecified is the address that stands for all.
func (f Family) unspecified() netip.Addr { return f.ipAddr([16]byte{}) }

func makeKey(addr netip.AddrPort, proto Protocol) frontendKey {
	return frontendKey{ip: ipBytes(addr.Addr()), port: addr.Port(), proto: proto}
}

func compareKeys(a, b frontendKey) int {
	if c := bytes.Compare(a.ip[:], b.ip[:]); c != 0 {
		return c
	}
	if a.proto != b.proto {
		return int(a.proto) - int(b.proto)
	}
	return int(a.port) - int(b.port)
}

func compareIPs(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) }
