package docs_test

import (
	"context"
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/internal/netns"
	"github.com/nearside/nearside/nft"
	"github.com/nearside/nearside/selector"
)

// The bodies of these functions stand in README.md.

func Example_select() {
	req := &selector.Request{
		Node: selector.Node{Name: "node-a", Zone: "zone-1"},
		Endpoints: []selector.Endpoint{
			{Addr: netip.MustParseAddrPort("10.1.1.10:8080"), Node: "node-a", Ready: true},
			{Addr: netip.MustParseAddrPort("10.1.2.10:8080"), Node: "node-b", Ready: true},
		},
	}
	sel := selector.PreferLocal{}.Select(req)
	fmt.Println(sel.Backends, sel.Scope, sel.Reason.Code)
	// Output: [{10.1.1.10:8080 1}] node LocalReady
}

func program(ctx context.Context, sel selector.Selection) error {
	frontend := nft.Frontend{Addr: netip.MustParseAddrPort("10.96.0.10:80"), Protocol: nft.TCP}
	for _, b := range sel.Backends {
		frontend.Backends = append(frontend.Backends,
			nft.Backend{Addr: b.Addr, Weight: b.Weight, Local: sel.Scope == selector.ScopeNode})
	}
	table := nft.NewTable(nft.Config{Family: nft.IPv4})
	if left := table.Set(nft.Service{Name: "shop/web", Frontends: []nft.Frontend{frontend}}); len(left) > 0 {
		return fmt.Errorf("cannot be used: %v", left)
	}

	conn, err := nft.Dial() // in the network namespace of this thread
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.Apply(ctx, table.Changes()); err != nil { // all of it or nothing
		return err
	}
	table.Committed() // from here on, Changes is what differs from now
	return nil
}

func TestTheExampleOfTheReadmeProgramsTheKernel(t *testing.T) {
	ns := netns.New(t)
	sel := selector.Selection{
		Backends: []selector.Backend{{Addr: netip.MustParseAddrPort("10.1.1.10:8080"), Weight: 1}},
		Scope:    selector.ScopeNode,
	}
	ns.Must(t, func() error { return program(t.Context(), sel) })
	listing := ns.Run(t, "nft", "list", "table", "ip", "nearside")
	require.Contains(t, listing, "10.96.0.10 . tcp . 80 . 0 : 10.1.1.10 . 8080")
	require.Contains(t, listing, "10.1.1.10 . 10.1.1.10", "the endpoint is on this node")
}
