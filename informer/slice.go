package informer

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"unique"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// slice is what is kept of an EndpointSlice.
type slice struct {
	service Name
	v6      bool
	// ports are sorted and each there once.
	ports []slicePort
	// endpoints are in the order of their addresses, each address once.
	endpoints []endpoint
}

type slicePort struct {
	name, protocol string
	port           uint16
}

func (p slicePort) compare(o slicePort) int {
	return cmp.Or(cmp.Compare(p.name, o.name), cmp.Compare(p.protocol, o.protocol), cmp.Compare(p.port, o.port))
}

// endpoint is one address of a slice. There are hundreds of thousands of them
// in a large cluster, which is why it has handles and not strings.
type endpoint struct {
	addr       netip.Addr
	node, zone unique.Handle[string]
	// hints is shared by the endpoints of a slice that have the same; nil is none.
	hints                              *hints
	ready, serving, terminating, local bool
}

// hints name the nodes and zones an endpoint should serve.
type hints struct{ nodes, zones []string }

var noHints = &hints{}

func (e *endpoint) hint() *hints {
	if e.hints == nil {
		return noHints
	}
	return e.hints
}

// prefer orders two records of one address: the better one first. A record
// that is not terminating is the pod that has the address now (E5). The rest
// makes the choice independent of the order in which slices arrive: one that
// gets traffic before one that does not, one on this node before another, and
// what is left by its text.
func prefer(a, b *endpoint) int {
	return cmp.Or(
		falseFirst(a.terminating, b.terminating),
		falseFirst(b.ready, a.ready),
		falseFirst(b.serving, a.serving),
		falseFirst(b.local, a.local),
		cmp.Compare(a.node.Value(), b.node.Value()),
		cmp.Compare(a.zone.Value(), b.zone.Value()),
		slices.Compare(a.hint().nodes, b.hint().nodes),
		slices.Compare(a.hint().zones, b.hint().zones),
	)
}

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// equal reports whether two records mean the same.
func (s *slice) equal(o *slice) bool {
	return s.service == o.service && s.v6 == o.v6 && slices.Equal(s.ports, o.ports) &&
		slices.EqualFunc(s.endpoints, o.endpoints, func(a, b endpoint) bool {
			return a.addr == b.addr && prefer(&a, &b) == 0
		})
}

// convertSlice keeps what matters of an EndpointSlice. The record is nil for
// one that feeds no Service of this proxy (B1 to B3).
func convertSlice(object *discoveryv1.EndpointSlice, nodeName string) change {
	f := findings{kind: kindSlice.String(), object: objectText(object.Namespace, object.Name)}
	c := change{key: key{kindSlice, Name{object.Namespace, object.Name}}}
	service := object.Labels[discoveryv1.LabelServiceName]
	_, headless := object.Labels[corev1.IsHeadlessService]
	if service == "" || headless {
		return c
	}
	s := &slice{service: Name{object.Namespace, service}}
	switch object.AddressType {
	case discoveryv1.AddressTypeIPv4:
	case discoveryv1.AddressTypeIPv6:
		s.v6 = true
	case discoveryv1.AddressTypeFQDN:
		return c
	default:
		f.add("addressType", string(object.AddressType), "is not IPv4, IPv6 or FQDN; the slice is left out")
		c.problems = f.list
		return c
	}
	s.ports = f.slicePorts(object.Ports)
	s.endpoints = f.endpoints(object.Endpoints, s.v6, nodeName)
	c.record, c.problems = s, f.list
	return c
}

// slicePorts applies E1 and the API's defaults (A9): no name is the name "", no
// protocol is TCP. A port without a number would mean all ports, which cannot
// be served, and is left out silently.
func (f *findings) slicePorts(ports []discoveryv1.EndpointPort) []slicePort {
	out := make([]slicePort, 0, len(ports))
	for i := range ports {
		p := &ports[i]
		if p.Port == nil || *p.Port == 0 {
			continue
		}
		var name string
		var protocol corev1.Protocol
		if p.Name != nil {
			name = *p.Name
		}
		if p.Protocol != nil {
			protocol = *p.Protocol
		}
		known, ok := protocolName(protocol)
		if !ok {
			f.add("ports.protocol", string(protocol), "is not TCP, UDP or SCTP; the port is left out")
			continue
		}
		if *p.Port < 0 || *p.Port > 65535 {
			f.add("ports.port", fmt.Sprint(*p.Port), "is not a port number; the port is left out")
			continue
		}
		out = append(out, slicePort{name: intern(name), protocol: known, port: uint16(*p.Port)})
	}
	slices.SortFunc(out, slicePort.compare)
	return slices.Clip(slices.Compact(out))
}

// endpoints applies E2, E3, E4 and E7, and brings the endpoints in order.
func (f *findings) endpoints(list []discoveryv1.Endpoint, v6 bool, nodeName string) []endpoint {
	out := make([]endpoint, 0, len(list))
	known := make([]*hints, 0, 1)
	for i := range list {
		object := &list[i]
		if len(object.Addresses) == 0 {
			continue
		}
		addr, reason := endpointAddr(object.Addresses[0], v6)
		if reason != "" {
			f.add("endpoints.addresses", object.Addresses[0], reason+"; the endpoint is left out")
			continue
		}
		e := endpoint{
			addr:        addr,
			node:        unique.Make(f.topology("endpoints.nodeName", orEmpty(object.NodeName))),
			zone:        unique.Make(f.topology("endpoints.zone", orEmpty(object.Zone))),
			ready:       isTrue(object.Conditions.Ready, true),
			serving:     isTrue(object.Conditions.Serving, true),
			terminating: isTrue(object.Conditions.Terminating, false),
		}
		e.local = nodeName != "" && e.node.Value() == nodeName
		e.hints, known = f.hints(object.Hints, known)
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b endpoint) int {
		return cmp.Or(a.addr.Compare(b.addr), prefer(&a, &b))
	})
	return slices.Clip(slices.CompactFunc(out, func(a, b endpoint) bool { return a.addr == b.addr }))
}

// hints converts the hints of one endpoint. Those seen before in the slice are
// used again, because a slice of a hundred endpoints has a handful of zones.
func (f *findings) hints(object *discoveryv1.EndpointHints, known []*hints) (*hints, []*hints) {
	if object == nil {
		return nil, known
	}
	h := &hints{}
	for _, node := range object.ForNodes {
		if name := f.topology("endpoints.hints.forNodes", node.Name); name != "" {
			h.nodes = append(h.nodes, intern(name))
		}
	}
	for _, zone := range object.ForZones {
		if name := f.topology("endpoints.hints.forZones", zone.Name); name != "" {
			h.zones = append(h.zones, intern(name))
		}
	}
	if len(h.nodes) == 0 && len(h.zones) == 0 {
		return nil, known
	}
	for _, k := range known {
		if slices.Equal(k.nodes, h.nodes) && slices.Equal(k.zones, h.zones) {
			return k, known
		}
	}
	return h, append(known, h)
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func isTrue(condition *bool, absent bool) bool {
	if condition == nil {
		return absent
	}
	return *condition
}

// intern returns text that is shared with all equal text, and does not keep
// the object alive that it came from.
func intern(text string) string { return unique.Make(text).Value() }
