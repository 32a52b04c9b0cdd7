package semantics

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nearside/nearside/internal/packettest"
)

// The cast of most rows.
const (
	webIP      = "10.96.0.10:80"
	webVIP     = "198.51.100.80:80"
	webExtIP   = "198.51.100.90:80"
	atNode     = "192.0.2.11:30080"
	atNodeToo  = "192.0.2.12:30080"
	nearA      = "10.1.1.5:8080"
	nearB      = "10.1.1.6:8080"
	farA       = "10.1.2.5:8080"
	farB       = "10.1.3.5:8080"
	nearAPod   = "10.1.1.5"
	vip        = "198.51.100.80"
	externalIP = "198.51.100.90"
)

var (
	aPod    = packettest.Pod("10.1.1.50")
	farPod  = packettest.Outside("10.1.2.50")
	aClient = packettest.Outside("203.0.113.50")
	// theNode has an address that masquerade never gives, so it can be told.
	theNode = packettest.HostAt("192.0.2.12")
	anyone  = []packettest.Source{aPod, farPod, aClient, theNode}
)

// from makes a probe of each source.
func from(sources []packettest.Source, to string, want []ending) (all []probe) {
	for _, s := range sources {
		all = append(all, probe{from: s, to: to, want: want})
	}
	return all
}

// probes joins lists of probes.
func probes(lists ...[]probe) (all []probe) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

type serviceOption func(*corev1.Service)

// service makes a Service of the namespace demo with the ports tcp, udp and
// sctp, all 80, and the ClusterIP 10.96.0.10.
func service(name string, options ...serviceOption) *corev1.Service {
	s := &corev1.Service{
		TypeMeta: metav1.TypeMeta{Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "demo", Name: name, Annotations: map[string]string{}, Labels: map[string]string{},
			CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP,
			Ports: []corev1.ServicePort{
				{Name: "tcp", Protocol: corev1.ProtocolTCP, Port: 80},
				{Name: "udp", Protocol: corev1.ProtocolUDP, Port: 80},
				{Name: "sctp", Protocol: corev1.ProtocolSCTP, Port: 80},
			},
		},
	}
	at("10.96.0.10")(s)
	for _, o := range options {
		o(s)
	}
	return s
}

// web is the Service of most rows.
func web(options ...serviceOption) *corev1.Service { return service("web", options...) }

func at(ips ...string) serviceOption {
	return func(s *corev1.Service) {
		s.Spec.ClusterIP, s.Spec.ClusterIPs, s.Spec.IPFamilies = ips[0], ips, nil
		for _, ip := range ips {
			family := corev1.IPv4Protocol
			if strings.Contains(ip, ":") {
				family = corev1.IPv6Protocol
			}
			s.Spec.IPFamilies = append(s.Spec.IPFamilies, family)
		}
	}
}

func annotated(key, value string) serviceOption {
	return func(s *corev1.Service) { s.Annotations[key] = value }
}

func labelled(key, value string) serviceOption {
	return func(s *corev1.Service) { s.Labels[key] = value }
}

// nodePort makes it a Service of type NodePort, all of whose ports have 30080.
func nodePort(s *corev1.Service) {
	s.Spec.Type = corev1.ServiceTypeNodePort
	for i := range s.Spec.Ports {
		s.Spec.Ports[i].NodePort = 30080
	}
}

// vips makes it a Service of type LoadBalancer without node ports.
func vips(ips ...string) serviceOption {
	return func(s *corev1.Service) {
		s.Spec.Type = corev1.ServiceTypeLoadBalancer
		for _, ip := range ips {
			s.Status.LoadBalancer.Ingress = append(s.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: ip})
		}
	}
}

func externalIPs(ips ...string) serviceOption {
	return func(s *corev1.Service) { s.Spec.ExternalIPs = ips }
}

// everyWay gives it a node port, a load balancer's address and an external one.
func everyWay(s *corev1.Service) {
	nodePort(s)
	vips(vip)(s)
	externalIPs(externalIP)(s)
}

func externalLocal(s *corev1.Service) {
	s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
}

func internalLocal(s *corev1.Service) {
	s.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyLocal)
}

func sourceRanges(ranges ...string) serviceOption {
	return func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = ranges }
}

func sticky(seconds int32) serviceOption {
	return func(s *corev1.Service) {
		s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
		s.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &seconds}}
	}
}

// endpoints makes the EndpointSlice NAME-1 of a Service. Each endpoint is
// written "ADDRESS@NODE" with words behind it: unready, terminating (and
// serving), gone (terminating and not serving), zone=Z and node=N for hints.
func endpoints(name string, list ...string) *discoveryv1.EndpointSlice {
	return slice(name, name+"-1", list...)
}

func slice(name, own string, list ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		TypeMeta: metav1.TypeMeta{Kind: "EndpointSlice"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "demo", Name: own, Labels: map[string]string{discoveryv1.LabelServiceName: name},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	for _, p := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP} {
		s.Ports = append(s.Ports, slicePort(strings.ToLower(string(p)), p, 8080))
	}
	for _, e := range list {
		s.Endpoints = append(s.Endpoints, endpoint(e))
		if strings.Contains(e, ":") {
			s.AddressType = discoveryv1.AddressTypeIPv6
		}
	}
	return s
}

func slicePort(name string, protocol corev1.Protocol, number int32) discoveryv1.EndpointPort {
	return discoveryv1.EndpointPort{Name: &name, Protocol: &protocol, Port: &number}
}

func endpoint(text string) discoveryv1.Endpoint {
	words := strings.Fields(text)
	address, node, placed := strings.Cut(words[0], "@")
	e := discoveryv1.Endpoint{Addresses: []string{address}}
	if placed {
		e.NodeName = &node
	}
	ready, serving, terminating := true, true, false
	for _, w := range words[1:] {
		switch key, value, _ := strings.Cut(w, "="); key {
		case "unready":
			ready, serving = false, false
		case "terminating":
			ready, terminating = false, true
		case "gone":
			ready, serving, terminating = false, false, true
		case "zone":
			hints(&e).ForZones = append(hints(&e).ForZones, discoveryv1.ForZone{Name: value})
		case "node":
			hints(&e).ForNodes = append(hints(&e).ForNodes, discoveryv1.ForNode{Name: value})
		default:
			panic("semantics: endpoint " + text + " has the unknown word " + w)
		}
	}
	e.Conditions = discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving, Terminating: &terminating}
	return e
}

func hints(e *discoveryv1.Endpoint) *discoveryv1.EndpointHints {
	if e.Hints == nil {
		e.Hints = &discoveryv1.EndpointHints{}
	}
	return e.Hints
}

// node makes a Node of both families; zone may be empty.
func node(name, zone, address, pods string) *corev1.Node {
	n := &corev1.Node{
		TypeMeta:   metav1.TypeMeta{Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}},
	}
	if zone != "" {
		n.Labels[corev1.LabelTopologyZone] = zone
	}
	ip, prefix := netip.MustParseAddr(address), netip.MustParsePrefix(pods)
	for _, a := range []netip.Addr{ip, packettest.Twin(ip)} {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a.String()})
	}
	n.Spec.PodCIDR = pods
	n.Spec.PodCIDRs = []string{pods, packettest.TwinPrefix(prefix).String()}
	return n
}

func nodeA() *corev1.Node { return node("node-a", "zone-1", "192.0.2.11", "10.1.1.0/24") }
func nodeB() *corev1.Node { return node("node-b", "zone-2", "192.0.2.21", "10.1.2.0/24") }
func nodeC() *corev1.Node { return node("node-c", "zone-3", "192.0.2.31", "10.1.3.0/24") }

// serviceCIDR makes the ServiceCIDR of both families.
func serviceCIDR(prefix string) *networkingv1.ServiceCIDR {
	return &networkingv1.ServiceCIDR{
		TypeMeta:   metav1.TypeMeta{Kind: "ServiceCIDR"},
		ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"},
		Spec:       networkingv1.ServiceCIDRSpec{CIDRs: []string{prefix, packettest.TwinPrefix(netip.MustParsePrefix(prefix)).String()}},
	}
}

func nameOf(o runtime.Object) string {
	m := o.(metav1.Object)
	return fmt.Sprintf("%T %s/%s", o, m.GetNamespace(), m.GetName())
}

// twinObject returns the object that plays the same part in IPv6. What is no
// IPv4 address stays; a Node has both families already.
func twinObject(o runtime.Object) runtime.Object {
	o = o.DeepCopyObject()
	switch o := o.(type) {
	case *corev1.Service:
		twinTexts(o.Spec.ClusterIPs)
		o.Spec.ClusterIP = twinText(o.Spec.ClusterIP)
		for i := range o.Spec.IPFamilies {
			o.Spec.IPFamilies[i] = corev1.IPv6Protocol
		}
		twinTexts(o.Spec.ExternalIPs)
		twinTexts(o.Spec.LoadBalancerSourceRanges)
		for i := range o.Status.LoadBalancer.Ingress {
			o.Status.LoadBalancer.Ingress[i].IP = twinText(o.Status.LoadBalancer.Ingress[i].IP)
		}
	case *discoveryv1.EndpointSlice:
		if o.AddressType == discoveryv1.AddressTypeIPv4 {
			o.AddressType = discoveryv1.AddressTypeIPv6
		}
		for i := range o.Endpoints {
			twinTexts(o.Endpoints[i].Addresses)
		}
	}
	return o
}

func twinTexts(texts []string) {
	for i := range texts {
		texts[i] = twinText(texts[i])
	}
}

func twinText(text string) string {
	if a, err := netip.ParseAddr(text); err == nil && a.Is4() {
		return packettest.Twin(a).String()
	}
	if p, err := netip.ParsePrefix(strings.TrimSpace(text)); err == nil && p.Addr().Is4() {
		return strings.Replace(text, strings.TrimSpace(text), packettest.TwinPrefix(p).String(), 1)
	}
	return text
}
