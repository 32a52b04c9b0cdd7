// Package frontends says where each frontend of a node leads: as the kernel
// has it (Kernel), and as the API's objects want it (Wanted). The two are found
// without any code of nearside, the one by reading what nft prints and the
// other by a plain reading of the Service rules, so that they judge it.
package frontends

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// What a client meets at a frontend without backends.
const (
	Reject = "reject"
	Drop   = "drop"
)

// State maps each frontend, such as "tcp 10.96.0.1:80", to where it leads:
// sorted backends separated by spaces, or Reject or Drop.
type State map[string]string

func frontend(protocol string, address netip.AddrPort) string {
	return strings.ToLower(protocol) + " " + address.String()
}

func backends(addresses []string) string {
	slices.Sort(addresses)
	return strings.Join(addresses, " ")
}

// Diff lists in what other differs from s, at most ten lines; "" means that
// they are equal.
func (s State) Diff(other State) string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(s)) {
		switch led, ok := other[key]; {
		case !ok:
			lines = append(lines, fmt.Sprintf("- %s to %s", key, s[key]))
		case led != s[key]:
			lines = append(lines, fmt.Sprintf("~ %s to %s, not %s", key, led, s[key]))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(other)) {
		if _, ok := s[key]; !ok {
			lines = append(lines, fmt.Sprintf("+ %s to %s", key, other[key]))
		}
	}
	if more := len(lines) - 10; more > 0 {
		lines = append(lines[:10], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}
