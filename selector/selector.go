package selector

import (
	"net/netip"
	"time"
)

// A Selector decides which endpoints of one service port a new connection that
// starts on one node may go to, and with what share.
//
// Select does no I/O, keeps no hidden state and answers the same request in the
// same way, so it may be called from many goroutines at once. It must not
// modify the request. The order of Request.Endpoints never changes the answer.
//
// A Selector is free in everything but two rules: an endpoint that is not
// usable never gets traffic, and traffic policy Local is never widened. Enforce
// holds any Selector to both.
type Selector interface {
	Select(req *Request) Selection
}

// Request is all that a Selector may know.
type Request struct {
	// Port is the service port that is dialled.
	Port ServicePort
	// Traffic says which of the two traffic policies of Port applies.
	Traffic Traffic
	// Node is the node on which the connection is answered or starts.
	Node Node
	// Nodes is the number of nodes in the cluster; 0 means not known.
	Nodes int
	// Endpoints holds every endpoint of the service port, whatever its state,
	// each address once, in the order of their addresses. The built-in policies
	// put up with any order and with several records of one address, of which
	// one that is not terminating wins; it only costs them a copy.
	Endpoints []Endpoint
	// Load tells how loaded endpoints are. Nil means nothing is known.
	Load LoadView
}

// Policy returns the traffic policy that applies to the request's traffic.
func (r *Request) Policy() TrafficPolicy {
	if r.Traffic == External {
		return r.Port.External
	}
	return r.Port.Internal
}

// ServicePort is one port of a Service as a selector sees it.
type ServicePort struct {
	// Namespace, Service and Name identify the port; Name may be empty.
	Namespace, Service, Name string
	// Protocol is "TCP", "UDP" or "SCTP", as in the Service API.
	Protocol string
	// Internal and External are spec.internalTrafficPolicy and
	// spec.externalTrafficPolicy. The zero value is Cluster.
	Internal, External TrafficPolicy
	// Distribution is spec.trafficDistribution as written. It is information
	// only: what it asks for reaches a proxy as endpoint hints (KEP-4444).
	Distribution string
	// Affinity is the time a client is remembered under sessionAffinity
	// ClientIP; 0 means no affinity.
	Affinity time.Duration
}

// Traffic is the side a connection comes from.
type Traffic uint8

const (
	// Internal traffic dials the ClusterIP.
	Internal Traffic = iota
	// External traffic dials a node port, load-balancer or external address.
	External
)

// TrafficPolicy is a rule of the Service API, never a hint.
type TrafficPolicy uint8

const (
	// PolicyCluster allows every usable endpoint of the cluster.
	PolicyCluster TrafficPolicy = iota
	// PolicyLocal allows endpoints on the same node only (KEP-2086).
	PolicyLocal
)

// Node is the node for which the selection is made.
type Node struct {
	// Name is the name of the Node object.
	Name string
	// Zone is its label topology.kubernetes.io/zone; empty means no zone.
	Zone string
}

// Endpoint is one address behind a service port.
type Endpoint struct {
	// Addr is where connections go: the endpoint's address and target port.
	Addr netip.AddrPort
	// Node names the node it runs on; empty means not known, thus never local.
	Node string
	// Zone is the zone it runs in; empty means not known.
	Zone string
	// HintNodes and HintZones name the nodes and zones the EndpointSlice
	// controller wants it to serve (hints.forNodes, hints.forZones).
	HintNodes, HintZones []string
	// Ready, Serving and Terminating are the endpoint's conditions with the
	// defaults of the API applied (absent: ready, serving, not terminating).
	Ready, Serving, Terminating bool
}

// Draining reports whether the endpoint is on its way out but still answers.
// It gets traffic only where no ready endpoint is left (KEP-1669).
func (e *Endpoint) Draining() bool { return !e.Ready && e.Serving && e.Terminating }

// Usable reports whether the endpoint may get traffic under any circumstances.
func (e *Endpoint) Usable() bool { return e.Ready || e.Draining() }

// LocalTo reports whether the endpoint runs on the given node.
func (e *Endpoint) LocalTo(n Node) bool { return e.Node != "" && e.Node == n.Name }

// LoadView gives the load of endpoints. Implementations are safe for use by
// many goroutines and may know nothing about an endpoint.
type LoadView interface {
	Load(endpoint netip.AddrPort) (Load, bool)
}

// Load is a measured load.
type Load struct {
	// Value is the load in Unit, for instance connections per second.
	Value float64
	// Unit names what Value counts.
	Unit string
	// Age is the time since the load was measured.
	Age time.Duration
}

// Selection is the answer to a Request.
type Selection struct {
	// Backends are the endpoints that get new connections, each once, in the
	// order of their addresses.
	Backends []Backend
	// Scope is the smallest circle all backends were chosen from.
	Scope Scope
	// Fallback is true when the selector had to leave what it would rather do:
	// a wider scope than it prefers, or endpoints that are going away.
	Fallback bool
	// Empty says what a client meets when Backends is empty.
	Empty Verdict
	// Reason says why, for programs and for people.
	Reason Reason
}

// Backend is an endpoint that was chosen.
type Backend struct {
	// Addr is the endpoint's address and port.
	Addr netip.AddrPort
	// Weight is its share of new connections relative to the other backends:
	// at least 1. Weights are counted in table slots, so keep them small; see
	// MaxWeight.
	Weight int
}

// Scope is the circle a selection was made from.
type Scope uint8

const (
	// ScopeCluster is every node.
	ScopeCluster Scope = iota
	// ScopeZone is the zone of the node: endpoints that are in it, or that serve
	// it according to their hints.
	ScopeZone
	// ScopeNode is the node itself: endpoints that run on it, or that serve it
	// according to their hints.
	ScopeNode
)

// Verdict is what happens to a connection that no backend may take.
type Verdict uint8

const (
	// Reject refuses the connection actively: there is no endpoint anywhere.
	Reject Verdict = iota
	// Drop stays silent, so that a load balancer or client tries elsewhere:
	// endpoints exist, but none that the traffic policy allows here.
	Drop
)

// Reason explains a selection.
type Reason struct {
	// Code is stable: programs may compare it, metrics may carry it.
	Code Code
	// Text is a sentence for people and may change.
	Text string
}

// Code is a stable, CamelCase word for a reason.
type Code string
