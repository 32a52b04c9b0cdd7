package nodeaddrs_test

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/nearside/nearside/nodeaddrs"
)

// The default of --nodeport-addresses, on a node whose first address another
// machine translates (1:1 NAT).
func ExampleSelect() {
	local := []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("192.0.2.11")}
	node := []netip.Addr{netip.MustParseAddr("203.0.113.9")}
	fmt.Println("primary:", nodeaddrs.Select(local, node, nodeaddrs.Spec{Primary: true}))
	fmt.Println("all:    ", nodeaddrs.Select(local, node, nodeaddrs.Spec{All: true}))
	// Output:
	// primary: [203.0.113.9]
	// all:     [192.0.2.11]
}

// Watch tells of the addresses that are there, and then of every change.
func ExampleWatch() {
	ctx, cancel := context.WithCancel(context.Background())
	err := nodeaddrs.Watch(ctx, nodeaddrs.Options{}, func(addrs []netip.Addr) {
		fmt.Println("there is at least one:", len(addrs) > 0)
		cancel()
	})
	fmt.Println(err)
	// Output:
	// there is at least one: true
	// <nil>
}
