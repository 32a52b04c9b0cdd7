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

// compare orders names by namespace, then by name.
func (n Name) compare(other Name) int {
	if n.Namespace != other.Namespace {
		if n.Namespace < other.Namespace {
			return -1
		}
		return 1
	}
	if n.Name != other.Name {
		if n.Name < other.Name {
			return -1
		}
		return 1
	}
	return 0
}

// Service is one Service joined with its endpoints, as a proxy needs it. The
// value and everything it refers to is read-only and stays valid after the
// next change.
type Service struct {
	Name Name
	// Created is the creation time of the object; older services win where
	// two claim one address.
	Created time.Time
	// Policy is the value of the annotation nearside.dev/policy as written,
	// cut off after 128 bytes; empty when absent.
	Policy string
	// HealthCheckPort is where the node answers a load balancer's question
	// whether it has endpoints of the Service; 0 means nowhere.
	HealthCheckPort uint16
	// Ports are its service ports in the order of the object; a port of a
	// Service with two IP families is here twice, in the order of the families.
	Ports []ServicePort
}

// ServicePort is one port of a Service in one IP family.
type ServicePort struct {
	// Port is the port as selectors see it.
	Port selector.ServicePort
	// ClusterIP is what clients dial, with the service port.
	ClusterIP netip.AddrPort
	// NodePort is the port served on the node's own addresses; 0 means none.
	NodePort uint16
	// ExternalIPs and LoadBalancerIPs are further addresses clients dial, with
	// the service port, of ClusterIP's family. LoadBalancerIPs lack those with
	// ipMode Proxy (KEP-1860). Both are sorted.
	ExternalIPs, LoadBalancerIPs []netip.Addr
	// SourceRanges, if not empty, are the only sources that may dial
	// LoadBalancerIPs, sorted. They are of ClusterIP's family, unless the
	// Service has none of that family: then there is no restriction in it.
	SourceRanges []netip.Prefix
	// Endpoints are all its endpoints of ClusterIP's family, merged over all
	// slices, each address once, in the order of their addresses.
	Endpoints []selector.Endpoint
}

// Node is what a proxy needs to know of a Node object.
type Node struct {
	Name string
	// Known is false while there is no such object.
	Known bool
	// Zone is its topology.kubernetes.io/zone label.
	Zone string
	// Addresses are its internal addresses, then its external ones. The first of
	// a family is its primary address of that family.
	Addresses []netip.Addr
	// PodCIDRs are the addresses of its pods.
	PodCIDRs []netip.Prefix
	// Leaving is true while the node is being deleted, or about to be removed by
	// the cluster autoscaler: load balancers should not send it anything new.
	Leaving bool
}
