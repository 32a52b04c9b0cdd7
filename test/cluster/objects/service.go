package objects

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ServiceProxyName is the label that hands a Service to another proxy.
const ServiceProxyName = "service.kubernetes.io/service-proxy-name"

// Port makes a service port with a name made of protocol and number.
func Port(protocol corev1.Protocol, number int32) corev1.ServicePort {
	return corev1.ServicePort{
		Name: portName(protocol, number), Protocol: protocol, Port: number,
	}
}

func portName(protocol corev1.Protocol, number int32) string {
	switch protocol {
	case corev1.ProtocolUDP:
		return fmt.Sprintf("udp-%d", number)
	case corev1.ProtocolSCTP:
		return fmt.Sprintf("sctp-%d", number)
	}
	return fmt.Sprintf("tcp-%d", number)
}

// Service makes a ClusterIP Service without a selector, so that no controller
// manages its endpoints.
func Service(namespace, name string, ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, Ports: ports},
	}
}

// Slice makes the EndpointSlice of a service for one address type. Its ports
// have the names of the service's, and their numbers plus offset, as a
// targetPort that differs from the port would give.
func Slice(service *corev1.Service, family discoveryv1.AddressType, offset int32, endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: service.Namespace,
			Name:      fmt.Sprintf("%s-%s", service.Name, suffixes[family]),
			Labels:    map[string]string{discoveryv1.LabelServiceName: service.Name},
		},
		AddressType: family,
		Endpoints:   endpoints,
	}
	for _, port := range service.Spec.Ports {
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{
			Name: new(port.Name), Protocol: new(port.Protocol), Port: new(port.Port + offset),
		})
	}
	return slice
}

var suffixes = map[discoveryv1.AddressType]string{
	discoveryv1.AddressTypeIPv4: "v4", discoveryv1.AddressTypeIPv6: "v6", discoveryv1.AddressTypeFQDN: "fqdn",
}

// Endpoint makes a ready endpoint on a node; hints name the zones that should
// use it, if any.
func Endpoint(address, node string, hints ...string) discoveryv1.Endpoint {
	endpoint := discoveryv1.Endpoint{
		Addresses:  []string{address},
		Conditions: discoveryv1.EndpointConditions{Ready: new(true), Serving: new(true), Terminating: new(false)},
		NodeName:   new(node),
	}
	if len(hints) > 0 {
		endpoint.Hints = &discoveryv1.EndpointHints{}
		for _, zone := range hints {
			endpoint.Hints.ForZones = append(endpoint.Hints.ForZones, discoveryv1.ForZone{Name: zone})
		}
	}
	return endpoint
}

// Node makes a Node with a zone label.
func Node(name, zone string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:   name,
		Labels: map[string]string{corev1.LabelTopologyZone: zone, corev1.LabelHostname: name},
	}}
}
