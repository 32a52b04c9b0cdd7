package informer

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// kind tells what a record was converted from.
type kind uint8

const (
	kindService kind = iota
	kindSlice
	// kindNode is this proxy's own Node: its zone matters.
	kindNode
	// kindNodeName is any Node: it is only counted.
	kindNodeName
	kindServiceCIDR
	kinds
)

// everything is all kinds: a source that reads all of a cluster in one step
// knows all objects of them.
var everything = []kind{kindService, kindSlice, kindNode, kindNodeName, kindServiceCIDR}

// String returns the API's name of the kind.
func (k kind) String() string {
	switch k {
	case kindService:
		return "Service"
	case kindSlice:
		return "EndpointSlice"
	case kindServiceCIDR:
		return "ServiceCIDR"
	}
	return "Node"
}

// key identifies an object; nodes and ServiceCIDRs have no namespace.
type key struct {
	kind kind
	Name
}

func (k key) compare(other key) int {
	if c := cmp.Compare(k.kind, other.kind); c != 0 {
		return c
	}
	return k.Name.compare(other.Name)
}

// change is what one object says after conversion.
type change struct {
	key key
	// record is nil when the object is gone or is not for this proxy;
	// otherwise a *service, a *slice, an *ownNode, a counted or a serviceCIDR.
	record any
	// problems are the values that were left out.
	problems []Problem
}

// ownNode is the record of the proxy's own Node.
type ownNode struct {
	zone string
	// addresses are its internal addresses, then its external ones (W2).
	addresses []netip.Addr
	podCIDRs  []netip.Prefix
	leaving   bool
}

func (n *ownNode) equal(o *ownNode) bool {
	return n.zone == o.zone && n.leaving == o.leaving &&
		slices.Equal(n.addresses, o.addresses) && slices.Equal(n.podCIDRs, o.podCIDRs)
}

// counted is the record of a Node that is only counted.
type counted struct{}

// gone is the change that says an object no longer exists.
func gone(k key) change { return change{key: k} }

// convert turns an API object into changes, two for this proxy's own Node.
func convert(object runtime.Object, nodeName string) ([]change, error) {
	switch o := object.(type) {
	case *corev1.Service:
		return []change{convertService(o)}, nil
	case *discoveryv1.EndpointSlice:
		return []change{convertSlice(o, nodeName)}, nil
	case *corev1.Node:
		all := []change{countNode(o.Name)}
		if o.Name == nodeName {
			all = append(all, convertNode(o))
		}
		return all, nil
	case *networkingv1.ServiceCIDR:
		return []change{convertServiceCIDR(o)}, nil
	}
	return nil, fmt.Errorf("convert %T: want *v1.Service, *v1.EndpointSlice, *v1.Node or *v1.ServiceCIDR", object)
}
