package informer

import (
	"net/netip"
	"time"

	"github.com/nearside/nearside/selector"
)

// Name identifies a Service.
type Name struct{ Namespace, Name string }

// String returns "namespace/name".
func (n Name) String() string { return n.Namespace + "/" + n.Name }

// Service is one Service joined with its endpoints, as a proxy needs it. The
// value and everything it refers to is read-only and stays valid after the
// next change.
type Service struct {
	Name Name
	// Created is the creation time of the object; older services win where
	// two claim one address.
	Created time.Time
	// Policy is the value of the annotation nearside.dev/policy as written;
	// empty when absent.
	Policy string
	// Ports are its service ports in the order of the object.
	Ports []ServicePort
}

// ServicePort is one port of a Service in one IP family.
type ServicePort struct {
	// Port is the port as selectors see it.
	Port selector.ServicePort
	// ClusterIP is what clients dial, with the service port.
	ClusterIP netip.AddrPort
	// Endpoints are all its endpoints of ClusterIP's family, merged over all
	// slices, each address once, in the order of their addresses.
	Endpoints []selector.Endpoint
}

// Node is what a proxy needs to know of a Node object.
type Node struct {
	Name string
	// Zone is its topology.kubernetes.io/zone label.
	Zone string
}
