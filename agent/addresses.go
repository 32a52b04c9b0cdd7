package agent

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/nearside/nearside/nft"
)

// NodePortAddresses says which addresses of the node serve node ports: those in
// any of the prefixes, and those that the keywords stand for.
type NodePortAddresses struct {
	// Primary stands for the Node object's first address of each family.
	Primary bool
	// Localhost stands for 127.0.0.0/8 and ::1/128.
	Localhost bool
	// All stands for every address of the host except loopback.
	All bool
	// Prefixes hold further addresses.
	Prefixes []netip.Prefix
}

// IsZero reports whether nothing is asked for, which means the default.
func (a NodePortAddresses) IsZero() bool {
	return !a.Primary && !a.Localhost && !a.All && len(a.Prefixes) == 0
}

// String returns the addresses as ParseNodePortAddresses reads them.
func (a NodePortAddresses) String() string {
	var words []string
	for word, given := range a.keywords() {
		if *given {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	for _, p := range a.Prefixes {
		words = append(words, p.String())
	}
	return strings.Join(words, ",")
}

func (a *NodePortAddresses) keywords() map[string]*bool {
	return map[string]*bool{"primary": &a.Primary, "localhost": &a.Localhost, "all": &a.All}
}

// ParseNodePortAddresses reads prefixes such as "10.0.0.0/8" and the keywords
// primary, localhost and all, in any mixture. As in kube-proxy, a repeated
// keyword is an error.
func ParseNodePortAddresses(values []string) (NodePortAddresses, error) {
	var a NodePortAddresses
	keywords := a.keywords()
	for _, v := range values {
		v = strings.TrimSpace(v)
		if v == "" {
			continue
		}
		if given, ok := keywords[v]; ok {
			if *given {
				return NodePortAddresses{}, fmt.Errorf("parse node port addresses: keyword %q is repeated: give it once", v)
			}
			*given = true
			continue
		}
		p, err := netip.ParsePrefix(v)
		if err != nil {
			return NodePortAddresses{}, fmt.Errorf("parse node port address %q: expected a prefix such as \"10.0.0.0/8\", or primary, localhost or all", v)
		}
		a.Prefixes = append(a.Prefixes, p.Masked())
	}
	return a, nil
}

// ParseClusterCIDRs reads the prefixes of pods: one, or two of different IP
// families, separated by a comma. Empty text means none.
func ParseClusterCIDRs(text string) ([]netip.Prefix, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var prefixes []netip.Prefix
	for word := range strings.SplitSeq(text, ",") {
		p, err := netip.ParsePrefix(strings.TrimSpace(word))
		if err != nil {
			return nil, fmt.Errorf("parse cluster CIDR %q: expected a prefix such as \"10.244.0.0/16\", or an IPv4 and an IPv6 one separated by a comma", word)
		}
		prefixes = append(prefixes, p.Masked())
	}
	return prefixes, validateClusterCIDRs(prefixes)
}

func validateClusterCIDRs(prefixes []netip.Prefix) error {
	for i, p := range prefixes {
		if !p.IsValid() || p.Addr().Is4In6() {
			return fmt.Errorf("cluster CIDR %q is not valid: expected a prefix such as \"10.244.0.0/16\"", p)
		}
		for _, q := range prefixes[:i] {
			if nft.FamilyOf(p.Addr()) == nft.FamilyOf(q.Addr()) {
				return fmt.Errorf("cluster CIDRs %q and %q are of one IP family: give at most one per family", q, p)
			}
		}
	}
	return nil
}
