// Package health serves health check node ports: the HTTP servers that a load
// balancer asks whether this node has endpoints of a Service on it.
//
// A Service of type LoadBalancer with externalTrafficPolicy Local has a port in
// spec.healthCheckNodePort. On that port the node answers 200 while it has ready
// endpoints of the Service and its proxy keeps up with changes, and 503
// otherwise; any path and any method will do. The answer counts the endpoints,
// in the body and in the header X-Load-Balancing-Endpoint-Weight, whatever the
// status: a load balancer may weigh nodes by it (KEP-3836).
//
// A [Server] is told what to serve by [Server.Sync], [Server.Set] and
// [Server.Delete], and where by [Server.SetAddresses]. [Server.Run] then opens
// and closes what differs. A port that is taken is reported, and tried again
// with growing pauses until it is free; everything else goes on.
//
// IP families are apart: the answer over IPv4 counts IPv4 endpoints, that over
// IPv6 the others, since a load balancer that asks over one family sends
// clients over it.
//
// The package knows nothing of Kubernetes objects and nothing of the table in
// the kernel. It does not open the host's firewall.
package health
