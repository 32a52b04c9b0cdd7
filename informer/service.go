package informer

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nearside/nearside/selector"
)

const (
	// labelProxyName gives a Service to another proxy, whatever its value (A1).
	labelProxyName = "service.kubernetes.io/service-proxy-name"
	// annotationPolicy chooses a selector.
	annotationPolicy = "nearside.dev/policy"

	// defaultAffinity and maxAffinity are the API's, see v1.ClientIPConfig.
	defaultAffinity = time.Duration(corev1.DefaultClientIPServiceAffinitySeconds) * time.Second
	maxAffinity     = 24 * time.Hour

	// maxWord bounds free text that is handed on as written.
	maxWord = 128
	// maxLabel is the length of a DNS label, thus of the name of a Service, of
	// a namespace and of a service port.
	maxLabel = 63
)

// service is what is kept of a Service.
type service struct {
	created      time.Time
	policy       string
	distribution string
	internal     selector.TrafficPolicy
	external     selector.TrafficPolicy
	affinity     time.Duration
	// clusterIPs holds one address per IP family, in the object's order.
	clusterIPs []netip.Addr
	ports      []servicePort
	// externalIPs and loadBalancerIPs are sorted, of the families of clusterIPs.
	externalIPs, loadBalancerIPs []netip.Addr
	// sourceRanges are sorted, of any family.
	sourceRanges []netip.Prefix
	// healthCheckPort is 0 where there is none.
	healthCheckPort uint16
}

type servicePort struct {
	name, protocol string
	port, nodePort uint16
}

// equal reports whether two records mean the same.
func (s *service) equal(o *service) bool {
	return s.created.Equal(o.created) && s.policy == o.policy && s.distribution == o.distribution &&
		s.internal == o.internal && s.external == o.external && s.affinity == o.affinity &&
		slices.Equal(s.clusterIPs, o.clusterIPs) && slices.Equal(s.ports, o.ports) &&
		slices.Equal(s.externalIPs, o.externalIPs) && slices.Equal(s.loadBalancerIPs, o.loadBalancerIPs) &&
		slices.Equal(s.sourceRanges, o.sourceRanges) && s.healthCheckPort == o.healthCheckPort
}

// convertService keeps what matters of a Service. The record is nil for one
// that is not served: it belongs to another proxy, has no cluster IP, or
// nothing of it can be used.
func convertService(object *corev1.Service) change {
	f := findings{kind: kindService.String(), object: objectText(object.Namespace, object.Name)}
	c := change{key: key{kindService, Name{object.Namespace, object.Name}}}
	if served(object) && f.serviceName(object) {
		s := &service{
			created:      object.CreationTimestamp.Time,
			policy:       strings.Clone(shorten(object.Annotations[annotationPolicy], maxWord)),
			distribution: f.distribution(&object.Spec),
			affinity:     f.affinity(&object.Spec),
			clusterIPs:   f.clusterIPs(&object.Spec),
			ports:        f.servicePorts(object.Spec.Ports),
		}
		s.internal = f.internal(&object.Spec)
		s.external = f.external(&object.Spec)
		s.externalIPs = f.externalIPs(&object.Spec, s.clusterIPs)
		s.loadBalancerIPs = f.loadBalancerIPs(&object.Status, s.clusterIPs)
		f.restrict(s, &object.Spec)
		s.healthCheckPort = f.healthCheckPort(&object.Spec)
		if len(s.clusterIPs) > 0 && len(s.ports) > 0 {
			c.record = s
		}
	}
	c.problems = f.list
	return c
}

// served applies A1 and A2. A stale cluster IP of an ExternalName Service does
// not count, nor do external addresses of a headless one.
func served(object *corev1.Service) bool {
	if _, other := object.Labels[labelProxyName]; other {
		return false
	}
	spec := &object.Spec
	return spec.Type != corev1.ServiceTypeExternalName && spec.ClusterIP != "" && spec.ClusterIP != corev1.ClusterIPNone
}

// serviceName refuses names the API would not have let in. Everything later
// identifies a Service by "namespace/name", which must not be ambiguous.
func (f *findings) serviceName(object *corev1.Service) bool {
	for _, part := range []struct{ field, value string }{
		{"metadata.namespace", object.Namespace},
		{"metadata.name", object.Name},
	} {
		if !dnsLabel(part.value) {
			f.add(part.field, part.value, "is not a DNS label of at most 63 characters; the Service is left out")
			return false
		}
	}
	return true
}

func dnsLabel(text string) bool {
	for i := range len(text) {
		c := text[i]
		letter := 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
		if !letter && (c != '-' || i == 0 || i == len(text)-1) {
			return false
		}
	}
	return len(text) > 0 && len(text) <= maxLabel
}

// clusterIPs applies A3: clusterIPs[i] belongs to ipFamilies[i]; without
// ipFamilies, which only objects older than dual stack lack, the family of
// clusterIP decides and there is one.
func (f *findings) clusterIPs(spec *corev1.ServiceSpec) []netip.Addr {
	texts, families := spec.ClusterIPs, spec.IPFamilies
	if len(families) == 0 {
		for _, text := range texts[min(1, len(texts)):] {
			f.add("spec.clusterIPs", text, "has no entry in spec.ipFamilies; it is left out")
		}
		texts = []string{spec.ClusterIP}
	} else if len(texts) == 0 {
		texts = []string{spec.ClusterIP}
	}
	var out []netip.Addr
	for i, text := range texts {
		if text == "" {
			continue
		}
		addr, reason := serviceAddr(text)
		switch {
		case reason != "":
		case i >= len(families) && len(families) > 0:
			reason = "has no entry in spec.ipFamilies"
		case len(families) > 0 && addr.Is6() != (families[i] == corev1.IPv6Protocol):
			reason = fmt.Sprintf("is not of family %s, as spec.ipFamilies says", quote(string(families[i])))
		case slices.ContainsFunc(out, func(a netip.Addr) bool { return a.Is6() == addr.Is6() }):
			reason = "is a second address of its family"
		}
		if reason != "" {
			f.add("spec.clusterIPs", text, reason+"; it is left out")
			continue
		}
		out = append(out, addr)
	}
	return out
}

// servicePorts keeps the ports that can be served. Of two that would be the
// same frontend, or could not be told apart by name, the first stays.
func (f *findings) servicePorts(ports []corev1.ServicePort) []servicePort {
	out := make([]servicePort, 0, len(ports))
	for i := range ports {
		p := &ports[i]
		protocol, ok := protocolName(p.Protocol)
		switch {
		case !ok:
			f.add("spec.ports.protocol", string(p.Protocol), "is not TCP, UDP or SCTP; the port is left out")
			continue
		case p.Port < 1 || p.Port > 65535:
			f.add("spec.ports.port", fmt.Sprint(p.Port), "is not a port number; the port is left out")
			continue
		case p.Name != "" && !dnsLabel(p.Name):
			f.add("spec.ports.name", p.Name, "is not a DNS label of at most 63 characters; the port is left out")
			continue
		}
		if reason := clash(out, p.Name, protocol, uint16(p.Port)); reason != "" {
			f.add("spec.ports", fmt.Sprintf("%s %d/%s", p.Name, p.Port, protocol), reason+"; the later one is left out")
			continue
		}
		out = append(out, servicePort{
			name: intern(p.Name), protocol: protocol, port: uint16(p.Port), nodePort: f.nodePort(p.NodePort),
		})
	}
	return slices.Clip(out)
}

func clash(ports []servicePort, name, protocol string, port uint16) (reason string) {
	for _, p := range ports {
		switch {
		case p.protocol != protocol:
		case p.port == port:
			return "repeats a port number of the Service"
		case p.name == name:
			return "repeats a port name of the Service"
		}
	}
	return ""
}

func (f *findings) nodePort(port int32) uint16 {
	if port < 0 || port > 65535 {
		f.add("spec.ports.nodePort", fmt.Sprint(port), "is not a port number; there is no node port")
		return 0
	}
	return uint16(port)
}

// protocolName applies the API's default. The result is a constant, so that
// records do not hold on to text of the object.
func protocolName(p corev1.Protocol) (string, bool) {
	switch p {
	case corev1.ProtocolTCP, "":
		return string(corev1.ProtocolTCP), true
	case corev1.ProtocolUDP:
		return string(corev1.ProtocolUDP), true
	case corev1.ProtocolSCTP:
		return string(corev1.ProtocolSCTP), true
	}
	return "", false
}
