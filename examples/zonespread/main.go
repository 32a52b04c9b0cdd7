// Command zonespread shows a selector of one's own: see ZoneSpread. It compares
// the shares that endpoints and zones get from it with those of the built-in
// policy Cluster, for a service whose zones have three, two and one endpoints.
//
//	go run ./examples/zonespread
package main

import (
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/nearside/nearside/selector"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "zonespread:", err)
		os.Exit(1)
	}
}

// request asks for connections that start on node-a to a service with endpoints
// in three zones, one of them on its way out.
func request() *selector.Request {
	return &selector.Request{
		Port: selector.ServicePort{Namespace: "shop", Service: "web", Protocol: "TCP"},
		Node: selector.Node{Name: "node-a", Zone: "zone-1"},
		Endpoints: []selector.Endpoint{
			endpoint("10.1.1.10:8080", "zone-1"), endpoint("10.1.1.11:8080", "zone-1"), endpoint("10.1.2.10:8080", "zone-1"),
			endpoint("10.1.3.10:8080", "zone-2"), endpoint("10.1.3.11:8080", "zone-2"),
			endpoint("10.1.4.10:8080", "zone-3"),
			{Addr: netip.MustParseAddrPort("10.1.4.11:8080"), Zone: "zone-3", Serving: true, Terminating: true},
		},
	}
}

func endpoint(addr, zone string) selector.Endpoint {
	return selector.Endpoint{Addr: netip.MustParseAddrPort(addr), Zone: zone, Ready: true, Serving: true}
}

func run(out io.Writer) error {
	req := request()
	// Enforce is what makes a selector of one's own safe to use: the answer of
	// one that breaks a rule of the Service API is replaced. nearside's agent
	// wraps all its selectors in it.
	spread := selector.Enforce(ZoneSpread{}).Select(req)
	even := selector.Cluster{}.Select(req)

	var rows strings.Builder
	rows.WriteString("ENDPOINT\tZONE\tSTATE\tCLUSTER\tZONESPREAD\tWEIGHT\n")
	before, after := selector.Explain(req, even), selector.Explain(req, spread)
	for i, x := range after {
		fmt.Fprintf(&rows, "%v\t%s\t%s\t%s\t%s\t%d\n", x.Addr, x.Zone, x.State,
			share(before, before[i].Weight), share(after, x.Weight), x.Weight)
	}
	for _, zone := range []string{"zone-1", "zone-2", "zone-3"} {
		fmt.Fprintf(&rows, "all\t%s\t\t%s\t%s\t%d\n", zone,
			share(before, weightOf(before, zone)), share(after, weightOf(after, zone)), weightOf(after, zone))
	}
	fmt.Fprintf(&rows, "\n%s: %s\n", spread.Reason.Code, spread.Reason.Text)

	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if _, err := io.WriteString(w, rows.String()); err != nil {
		return err
	}
	return w.Flush()
}

// weightOf adds up the weights in a zone, or in all zones if zone is "".
func weightOf(xs []selector.Explanation, zone string) int {
	sum := 0
	for _, x := range xs {
		if zone == "" || x.Zone == zone {
			sum += x.Weight
		}
	}
	return sum
}

// share is weight as a percentage of all weights.
func share(xs []selector.Explanation, weight int) string {
	return fmt.Sprintf("%.1f%%", 100*float64(weight)/float64(weightOf(xs, "")))
}
