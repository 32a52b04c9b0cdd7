package health_test

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/nearside/nearside/health"
	"github.com/nearside/nearside/selector"
)

// A server is told what to serve and where, and runs until it is told to stop.
func Example() {
	endpoints := []selector.Endpoint{
		{Addr: netip.MustParseAddrPort("10.1.1.5:8080"), Node: "node-a", Ready: true},
		{Addr: netip.MustParseAddrPort("10.1.2.5:8080"), Node: "node-b", Ready: true},
	}
	server := health.New(health.Options{
		OnFailure: func(service health.Name, err error) { fmt.Println("event for", service, err) },
	})
	server.SetAddresses([]netip.Addr{netip.MustParseAddr("127.0.0.1")})
	server.Set(health.Name{Namespace: "demo", Name: "web"}, health.Spec{
		Port: 32080,
		IPv4: health.Family{Served: true, LocalEndpoints: health.CountLocal("node-a", endpoints)},
	})

	ctx, cancel := context.WithCancel(context.Background())
	cancel() // the usual caller waits for something first
	fmt.Println(server.Run(ctx), health.CountLocal("node-a", endpoints))
	// Output: <nil> 1
}
