package nft

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// TableName is the name of nearside's table in both families. nearside owns
// these two tables and touches nothing else.
const TableName = "nearside"

// Family is an IP family. Each has a table of its own, so that trouble in one
// never holds up the other.
type Family uint8

const (
	// IPv4 is the family of the table "ip nearside".
	IPv4 Family = iota
	// IPv6 is the family of the table "ip6 nearside".
	IPv6
)

// Families lists both families in the order they are written and printed.
var Families = []Family{IPv4, IPv6}

// FamilyOf returns the family of an address. An IPv4 address mapped into IPv6
// is IPv6: the kernel keeps the two apart as well.
func FamilyOf(a netip.Addr) Family {
	if a.Is4() {
		return IPv4
	}
	return IPv6
}

// String returns the family as nft writes it: "ip" or "ip6".
func (f Family) String() string {
	if f == IPv6 {
		return "ip6"
	}
	return "ip"
}

// addrLen is the length of an address in bytes.
func (f Family) addrLen() int {
	if f == IPv6 {
		return 16
	}
	return 4
}

// proto is the family's number in netfilter (include/uapi/linux/netfilter.h).
func (f Family) proto() byte {
	if f == IPv6 {
		return unix.NFPROTO_IPV6
	}
	return unix.NFPROTO_IPV4
}

// Config is what a whole table depends on. The zero value is an IPv4 table
// that masquerades nothing but hairpin connections.
type Config struct {
	// Family is the table's IP family.
	Family Family
	// ClusterCIDR holds the addresses of all pods. Connections to a ClusterIP
	// from elsewhere are masqueraded, so that answers come back through this
	// node. The zero prefix means pods cannot be told from others: then no such
	// masquerade takes place.
	ClusterCIDR netip.Prefix
	// PodInterface and PodInterfacePrefix tell pods by the interface that their
	// packets come in through: one with this name, or one whose name begins so.
	// At most one of the three ways may be given.
	PodInterface, PodInterfacePrefix string
	// MasqueradeAll masquerades every connection to a ClusterIP.
	MasqueradeAll bool
}

// Validate reports what is wrong with a configuration. NewTable panics on a
// configuration that does not pass.
func (c Config) Validate() error {
	if c.Family > IPv6 {
		return fmt.Errorf("family %d is neither IPv4 nor IPv6", c.Family)
	}
	ways := 0
	for _, given := range []bool{c.ClusterCIDR != (netip.Prefix{}), c.PodInterface != "", c.PodInterfacePrefix != ""} {
		if given {
			ways++
		}
	}
	if ways > 1 {
		return errors.New("more than one way to tell pods from others: give a cluster CIDR, a pod interface or a prefix of one")
	}
	for _, name := range []string{c.PodInterface, c.PodInterfacePrefix} {
		if !validInterface(name) {
			return fmt.Errorf("%q is not the name of an interface: it may have up to %d letters, digits and . _ - @", name, unix.IFNAMSIZ-1)
		}
	}
	if c.ClusterCIDR == (netip.Prefix{}) {
		return nil
	}
	if !c.ClusterCIDR.IsValid() {
		return fmt.Errorf("cluster CIDR %v is not valid", c.ClusterCIDR)
	}
	if FamilyOf(c.ClusterCIDR.Addr()) != c.Family {
		return fmt.Errorf("cluster CIDR %v does not belong to family %v", c.ClusterCIDR, c.Family)
	}
	return nil
}

// validInterface accepts names that mean the same to the kernel and to nft: no
// wildcard, no quote, nothing that ends a string.
func validInterface(name string) bool {
	if len(name) >= unix.IFNAMSIZ {
		return false
	}
	for _, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && r != '.' && r != '_' && r != '-' && r != '@' {
			return false
		}
	}
	return true
}
