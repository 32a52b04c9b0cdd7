// Command static uses the renderer alone, without Kubernetes: it balances one
// frontend over a list of backends that are given on the command line.
//
//	go run ./examples/static 10.0.0.1:8080 10.0.0.2:8080=3
//
// prints a table for nft in which the second backend gets three of four
// connections. With -apply, which needs root, it puts the table into the kernel
// in one transaction. Run again with other backends, it changes just what is
// different, and connections that are under way do not notice.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/nearside/nearside/nft"
)

var protocols = map[string]nft.Protocol{"tcp": nft.TCP, "udp": nft.UDP, "sctp": nft.SCTP}

func main() {
	frontend := flag.String("frontend", "192.0.2.80:80", "`address:port` that clients dial")
	protocol := flag.String("protocol", "tcp", "tcp, udp or sctp")
	apply := flag.Bool("apply", false, "write to the kernel instead of standard output")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: static [flags] ADDRESS:PORT[=WEIGHT]...")
		flag.PrintDefaults()
	}
	flag.Parse()

	service, err := parse(*frontend, *protocol, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "static:", err)
		os.Exit(2)
	}
	if err := run(context.Background(), os.Stdout, service, *apply); err != nil {
		fmt.Fprintln(os.Stderr, "static:", err)
		os.Exit(1)
	}
}

// parse makes the service from the command line. Without backends, connections
// to the frontend are rejected.
func parse(frontend, protocol string, backends []string) (nft.Service, error) {
	addr, err := netip.ParseAddrPort(frontend)
	if err != nil {
		return nft.Service{}, fmt.Errorf("parse frontend %q: expected ADDRESS:PORT", frontend)
	}
	proto, ok := protocols[protocol]
	if !ok {
		return nft.Service{}, fmt.Errorf("unknown protocol %q: expected tcp, udp or sctp", protocol)
	}
	fe := nft.Frontend{Addr: addr, Protocol: proto, Empty: nft.Reject}
	for _, text := range backends {
		where, share, weighted := strings.Cut(text, "=")
		b := nft.Backend{Weight: 1}
		if b.Addr, err = netip.ParseAddrPort(where); err == nil && weighted {
			b.Weight, err = strconv.Atoi(share)
		}
		if err != nil {
			return nft.Service{}, fmt.Errorf("parse backend %q: expected ADDRESS:PORT or ADDRESS:PORT=WEIGHT", text)
		}
		fe.Backends = append(fe.Backends, b)
	}
	return nft.Service{Name: "static", Frontends: []nft.Frontend{fe}}, nil
}

func run(ctx context.Context, out io.Writer, service nft.Service, apply bool) error {
	// Clients that are not on this node get their answers through it only if
	// their address is masqueraded.
	family := nft.FamilyOf(service.Frontends[0].Addr.Addr())
	table := nft.NewTable(nft.Config{Family: family, MasqueradeAll: true})
	if apply {
		return program(ctx, out, table, service)
	}
	if err := set(table, service); err != nil {
		return err
	}
	_, err := io.WriteString(out, table.Ruleset().Text())
	return err
}

// set puts the service into the table. A table leaves out what it cannot use
// and goes on; with one service, that is an error.
func set(table *nft.Table, service nft.Service) error {
	var errs []error
	for _, p := range table.Set(service) {
		errs = append(errs, errors.New(p.String()))
	}
	return errors.Join(errs...)
}

// program brings the kernel's table to the wanted state by one transaction that
// holds just the difference.
func program(ctx context.Context, out io.Writer, table *nft.Table, service nft.Service) error {
	conn, err := nft.Dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	present, err := conn.ReadBack(ctx, table.Family())
	if err != nil {
		return err
	}
	table.Adopt(present) // backends that stay keep their slots
	if err := set(table, service); err != nil {
		return err
	}
	tx := nft.Diff(present, table.Ruleset())
	if err := conn.Apply(ctx, tx); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "table %s %s: %d objects changed\n", table.Family(), nft.TableName, tx.Size())
	return err
}
