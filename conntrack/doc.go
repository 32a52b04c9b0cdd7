// Package conntrack makes UDP clients move on when a Service changes.
//
// The kernel chooses an endpoint for the first packet of a flow and keeps to
// it for as long as packets come. UDP has no end of connection: a client that
// sends from one port all the time, as resolvers and statsd clients do, stays
// with an endpoint that is long gone, or with the choice "not translated" that
// was made before there was an endpoint. The only remedy is to delete the flow,
// so that its next packet is the first of a new one.
//
//	cleaner, err := conntrack.Dial()
//	...
//	err = conn.Apply(ctx, tx) // the new rules first, or the next packet undoes it
//	result, err := cleaner.Clean(ctx, changed, nodeAddrs)
//
// # Which flows go
//
// A flow is deleted if a client dialled one of the changed frontends, in UDP,
// and its answers come from anywhere but an endpoint that serves that frontend.
// Everything else stays: TCP and SCTP, flows to endpoints that serve, whatever
// policy says of them, and flows of others that only share the port number.
//
// # What it costs
//
// Nothing without changed frontends. Otherwise the kernel walks its table and
// hands over only the UDP flows to the addresses and ports in question
// (CTA_FILTER, Linux 5.8; older kernels hand over everything, and the outcome is
// the same). They are looked at as they come in; only those to be deleted are
// kept. BenchmarkClean has figures.
//
// # What it does not do
//
// It knows nothing of Kubernetes, starts no goroutine, and never touches
// expectations, timeouts or marks. Conntrack zones are not told apart: the flow
// of any zone to a changed frontend counts.
package conntrack
