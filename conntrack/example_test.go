package conntrack_test

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/nearside/nearside/conntrack"
)

// A UDP service lost an endpoint, and another one its node port. The rules that
// say so are in the kernel by now.
func ExampleCleaner_Clean() {
	cleaner, err := conntrack.Dial()
	if err != nil {
		fmt.Println("stale flows cannot be deleted:", err)
		return
	}
	defer cleaner.Close()

	changed := []conntrack.Frontend{
		{
			Addr:    netip.MustParseAddrPort("10.96.0.10:53"),
			Serving: []netip.AddrPort{netip.MustParseAddrPort("10.1.2.6:5353")},
		},
		{Addr: netip.MustParseAddrPort("0.0.0.0:30053")}, // vanished: nobody serves it
	}
	result, err := cleaner.Clean(context.Background(), changed, []netip.Addr{netip.MustParseAddr("192.0.2.11")})
	if err != nil {
		fmt.Println("stale flows may remain:", err)
	}
	fmt.Println("flows whose clients move on:", result.Deleted)
}
