package objects

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// Nodes and their zones, over which the mix spreads its endpoints.
var (
	Nodes = []string{"node-a", "node-b", "node-c"}
	Zones = map[string]string{"node-a": "zone-1", "node-b": "zone-1", "node-c": "zone-2"}
)

// Bundle is a Service with its EndpointSlices.
type Bundle struct {
	Service *corev1.Service
	Slices  []*discoveryv1.EndpointSlice
}

// Mix makes the i-th bundle of a mix that has a bit of everything the
// ClusterIPs of a cluster have: mostly TCP with one to five endpoints; UDP;
// both protocols on one port; two address families; zone hints; the internal
// traffic policy Local; no endpoints at all; endpoints that are not ready.
func Mix(namespace string, i int) Bundle {
	var ports []corev1.ServicePort
	switch {
	case i%10 == 3:
		ports = []corev1.ServicePort{Port(corev1.ProtocolUDP, 53), Port(corev1.ProtocolTCP, 53)}
	case i%5 == 0:
		ports = []corev1.ServicePort{Port(corev1.ProtocolUDP, 123)}
	default:
		ports = []corev1.ServicePort{Port(corev1.ProtocolTCP, 80)}
	}
	service := Service(namespace, fmt.Sprintf("mix-%d", i), ports...)
	count := 1 + i%5
	switch {
	case i%50 == 7:
		count = 0
	case i%40 == 11:
		service.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyLocal)
	}
	bundle := Bundle{Service: service}
	add := func(family discoveryv1.AddressType, address func(i, n int) netip.Addr) {
		var endpoints []discoveryv1.Endpoint
		for n := range count {
			endpoints = append(endpoints, mixEndpoint(i, n, address(i, n)))
		}
		bundle.Slices = append(bundle.Slices, Slice(service, family, 8000, endpoints...))
	}
	add(discoveryv1.AddressTypeIPv4, podIPv4)
	if i%20 == 1 {
		service.Spec.IPFamilyPolicy = new(corev1.IPFamilyPolicyPreferDualStack)
		add(discoveryv1.AddressTypeIPv6, podIPv6)
	}
	return bundle
}

func mixEndpoint(i, n int, address netip.Addr) discoveryv1.Endpoint {
	node := Nodes[(i+n)%len(Nodes)]
	var hints []string
	if i%4 == 2 {
		hints = []string{Zones[node]}
	}
	endpoint := Endpoint(address.String(), node, hints...)
	if i%9 == 4 && n == 1 {
		endpoint.Conditions.Ready = new(false)
		endpoint.Conditions.Serving = new(false)
	}
	return endpoint
}

// podIPv4 and podIPv6 give endpoint n of bundle i an address of its own, from
// 10.128.0.0 and fd00:10:128:: upwards.
func podIPv4(i, n int) netip.Addr {
	host := 10<<24 | 128<<16 | podNumber(i, n)
	return netip.AddrFrom4([4]byte{byte(host >> 24), byte(host >> 16), byte(host >> 8), byte(host)})
}

func podIPv6(i, n int) netip.Addr {
	address, number := netip.MustParseAddr("fd00:10:128::").As16(), podNumber(i, n)
	address[13], address[14], address[15] = byte(number>>16), byte(number>>8), byte(number)
	return netip.AddrFrom16(address)
}

// podNumber leaves room for eight endpoints a bundle. It is never 0, so that no
// endpoint has the address of a network.
func podNumber(i, n int) int { return i*8 + n + 1 }
