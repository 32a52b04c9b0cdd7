// Package nft renders services into an nftables table and brings the kernel to
// it in atomic steps.
//
// # The table
//
// Rules are a small set of programs; services and endpoints are nothing but
// elements of maps. What a client dials, a frontend, is an element of the map
// "frontends" and leads to a program such as pick-3, which sends a new
// connection to one of three slots. The endpoint in each slot is an element of
// the map "backends". Programs exist per shape, not per service: a cluster
// with 50,000 services has a few dozen. An endpoint that is replaced is one
// element replaced.
//
// # From services to the kernel
//
//	table, problems := nft.Compile(nft.Config{}, services)
//	conn, err := nft.Dial()
//	err = conn.Apply(ctx, table.Changes()) // one transaction: all or nothing
//	table.Committed()
//
//	table.Set(changed)                     // later: costs what changed
//	err = conn.Apply(ctx, table.Changes())
//	table.Committed()
//
// After a restart, or when Apply fails, the kernel's table is read back and
// only the difference is committed:
//
//	kernel, err := conn.ReadBack(ctx, nft.IPv4)
//	table.Adopt(kernel) // before services are set: endpoints keep their slots
//	...
//	err = conn.Apply(ctx, nft.Diff(kernel, table.Ruleset()))
//
// Everything but Conn is pure and needs no privilege. Each IP family has a
// table of its own.
//
// # Text
//
// Ruleset.Text is what `nft list table` prints for the same state and what
// `nft -f` reads. The package never runs nft.
//
// # What it does not do
//
// It does not choose endpoints (package selector does), knows nothing of
// Kubernetes, starts no goroutines and touches no table but its own two.
package nft
