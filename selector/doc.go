// Package selector decides which endpoints of a Kubernetes Service a new
// connection may go to, and with what share.
//
// A [Selector] is a pure function: it gets a [Request], which holds everything
// it may know, and returns a [Selection], which holds the chosen [Backend]s
// with integer weights, the circle they come from, what a client meets when
// there are none, and a [Reason] for programs and for people.
//
// # Policies
//
//   - [Cluster]: the ready endpoints the topology hints ask for, or all of them.
//     It is what a Service gets without any wish of its own.
//   - [Local]: endpoints on this node only. It is what internalTrafficPolicy and
//     externalTrafficPolicy Local demand, and nobody else can choose it.
//   - [PreferLocal]: ready endpoints on this node if there are any, otherwise
//     what Cluster gives.
//   - [LocalIfPlenty]: ready endpoints on this node where the service has enough
//     of them for its cluster, otherwise what Cluster gives.
//
// [Builtin] finds those that an annotation may name.
//
// # Rules
//
// Traffic policy goes before topology, and topology before anything else. All
// built-in policies answer exactly as [Local] does where [Request.Policy] is
// [PolicyLocal]: that policy is a rule of the Service API and never a hint.
//
// An endpoint gets traffic when it is ready. Where no endpoint that the traffic
// policy allows is ready, those that are terminating and still serving get it
// (KEP-1669). All others never do, whatever a selector thinks of them.
//
// # Selectors of one's own
//
// Implement [Selector] and wrap it in [Enforce], which holds it to these rules:
// an answer that breaks one is replaced by that of Local or Cluster, and the
// reason names what was wrong. See the example of [Enforce].
//
// # Order
//
// The order of a request's endpoints never changes an answer, and backends come
// in the order of their addresses. A request whose endpoints are in that order
// already costs one allocation; any other costs a sorted copy.
//
// # What this package does not do
//
// It does no I/O, starts no goroutine, keeps no state between calls, reads no
// clock and draws no random numbers. It knows nothing of Kubernetes objects, of
// nftables or of time: it imports only the standard library, and a test keeps
// it so. It does not choose a connection's backend either; it says which
// backends there are and how often each should be taken, and leaves the
// choosing to the data plane.
package selector
