// Package demo is the command nearside demo: a cluster of two zones and three
// nodes on this machine, with a real agent on each node and real connections.
//
// Nodes and pods are network namespaces (package netlab). The agents are child
// processes, "nearside run" as anyone would run it; they read manifests, and
// the demo changes policies and endpoints by rewriting those. Pods are HTTP
// servers of this process whose sockets are in the pods' namespaces.
//
// Run goes through scenes. Each policy is a scene: it is written into the
// manifests, the demo waits until the kernel of every node has it, a client pod
// on each node makes connections, and a table tells who answered. The last
// scene takes an endpoint away while connections run. What ought to come out is
// worked out apart from package selector (see allowed), so a mistake there
// cannot hide itself; any difference makes the demo fail.
package demo
