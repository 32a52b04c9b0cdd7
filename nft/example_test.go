package nft_test

import (
	"context"
	"fmt"
	"log"
	"net/netip"

	"github.com/nearside/nearside/nft"
)

func web(backends ...string) nft.Service {
	fe := nft.Frontend{Addr: netip.MustParseAddrPort("10.96.0.10:80"), Protocol: nft.TCP}
	for _, b := range backends {
		fe.Backends = append(fe.Backends, nft.Backend{Addr: netip.MustParseAddrPort(b), Weight: 1})
	}
	return nft.Service{Name: "demo/web", Frontends: []nft.Frontend{fe}}
}

// A replaced endpoint is one element deleted and one added, whatever else the
// table holds.
func ExampleTable_Changes() {
	table, _ := nft.Compile(nft.Config{}, []nft.Service{web("10.1.1.5:8080", "10.1.2.5:8080")})
	table.Committed() // the kernel has it

	table.Set(web("10.1.1.5:8080", "10.1.2.6:8080"))
	fmt.Print(table.Changes().Text())
	// Output:
	// delete element ip nearside backends { 10.96.0.10 . tcp . 80 . 1 }
	// add element ip nearside backends { 10.96.0.10 . tcp . 80 . 1 : 10.1.2.6 . 8080 }
}

// What cannot be used costs only itself.
func ExampleTable_Set() {
	table := nft.NewTable(nft.Config{})
	for _, p := range table.Set(web("10.1.1.5:8080", "[fd00::5]:8080")) {
		fmt.Println(p)
	}
	fmt.Println("frontends:", table.Frontends())
	// Output:
	// service "demo/web": backend [fd00::5]:8080: the address does not belong to family ip
	// frontends: 1
}

// Diff compares any two states, for instance before and after a restart.
func ExampleDiff() {
	a, _ := nft.Compile(nft.Config{}, nil)
	b, _ := nft.Compile(nft.Config{}, []nft.Service{web()})
	fmt.Print(nft.Diff(a.Ruleset(), b.Ruleset()).Text())
	// Output:
	// add element ip nearside frontends { 10.96.0.10 . tcp . 80 : goto refuse }
	// add element ip nearside cluster-ips { 10.96.0.10 }
}

// The life of a program that writes the table: replace what an earlier process
// left, then follow changes.
func ExampleConn() {
	ctx := context.Background()
	conn, err := nft.Dial()
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	kernel, err := conn.ReadBack(ctx, nft.IPv4)
	if err != nil {
		log.Fatal(err)
	}
	table := nft.NewTable(nft.Config{})
	table.Adopt(kernel)
	table.Set(web("10.1.1.5:8080"))
	if err := conn.Apply(ctx, nft.Diff(kernel, table.Ruleset())); err != nil {
		log.Fatal(err)
	}
	table.Committed()

	table.Set(web("10.1.1.6:8080"))
	if err := conn.Apply(ctx, table.Changes()); err != nil {
		log.Fatal(err)
	}
	table.Committed()
}
