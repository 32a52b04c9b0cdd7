package frontends

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/nearside/nearside/test/cluster/objects"
)

// Wanted reads all Services, EndpointSlices and the Node from the API and works
// out where the cluster IPs should lead on that node. It knows what the tests
// use: readiness without terminating endpoints, zone hints, the internal
// traffic policy, the proxy-name label, both families.
func Wanted(ctx context.Context, client kubernetes.Interface, nodeName string) (State, error) {
	node, err := client.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get node %q: %w", nodeName, err)
	}
	services, err := client.CoreV1().Services("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list services: %w", err)
	}
	allSlices, err := client.DiscoveryV1().EndpointSlices("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list endpoint slices: %w", err)
	}
	byService := map[string][]discoveryv1.EndpointSlice{}
	for _, slice := range allSlices.Items {
		name := slice.Namespace + "/" + slice.Labels[discoveryv1.LabelServiceName]
		byService[name] = append(byService[name], slice)
	}
	w := wanted{node: nodeName, zone: node.Labels[corev1.LabelTopologyZone], state: State{}}
	for _, service := range services.Items {
		if err := w.add(&service, byService[service.Namespace+"/"+service.Name]); err != nil {
			return nil, fmt.Errorf("service %s/%s: %w", service.Namespace, service.Name, err)
		}
	}
	return w.state, nil
}

type wanted struct {
	node, zone string
	state      State
}

func (w *wanted) add(service *corev1.Service, parts []discoveryv1.EndpointSlice) error {
	if _, other := service.Labels[objects.ServiceProxyName]; other || service.Spec.ClusterIP == corev1.ClusterIPNone {
		return nil
	}
	for _, clusterIP := range service.Spec.ClusterIPs {
		address, err := netip.ParseAddr(clusterIP)
		if err != nil {
			return err
		}
		for _, port := range service.Spec.Ports {
			led, err := w.lead(service, port, address.Is4(), parts)
			if err != nil {
				return err
			}
			w.state[frontend(string(port.Protocol), netip.AddrPortFrom(address, uint16(port.Port)))] = led
		}
	}
	return nil
}

// candidate is a ready endpoint of one service port.
type candidate struct {
	discoveryv1.Endpoint
	address string // with the port
}

func (w *wanted) lead(service *corev1.Service, port corev1.ServicePort, ipv4 bool, parts []discoveryv1.EndpointSlice) (string, error) {
	all, err := candidates(port, ipv4, parts)
	if err != nil {
		return "", err
	}
	policy := service.Spec.InternalTrafficPolicy
	local := policy != nil && *policy == corev1.ServiceInternalTrafficPolicyLocal
	chosen := w.inZone(all)
	if local {
		chosen = keep(all, func(c candidate) bool { return c.NodeName != nil && *c.NodeName == w.node })
	}
	switch {
	case len(all) == 0:
		return Reject, nil
	case len(chosen) == 0:
		return Drop, nil
	}
	var addresses []string
	for _, c := range chosen {
		addresses = append(addresses, c.address)
	}
	return backends(addresses), nil
}

func candidates(port corev1.ServicePort, ipv4 bool, parts []discoveryv1.EndpointSlice) ([]candidate, error) {
	family := discoveryv1.AddressTypeIPv6
	if ipv4 {
		family = discoveryv1.AddressTypeIPv4
	}
	var ready []candidate
	for _, slice := range parts {
		for _, slicePort := range slice.Ports {
			if slice.AddressType != family || *slicePort.Name != port.Name || *slicePort.Protocol != port.Protocol {
				continue
			}
			for _, endpoint := range slice.Endpoints {
				if endpoint.Conditions.Ready != nil && !*endpoint.Conditions.Ready {
					continue
				}
				address, err := netip.ParseAddr(endpoint.Addresses[0])
				if err != nil {
					return nil, err
				}
				ready = append(ready, candidate{endpoint, netip.AddrPortFrom(address, uint16(*slicePort.Port)).String()})
			}
		}
	}
	return ready, nil
}

// inZone applies the zone hints: they count only if every endpoint has one and
// at least one names this node's zone.
func (w *wanted) inZone(all []candidate) []candidate {
	hints := func(c candidate) []discoveryv1.ForZone {
		if c.Hints == nil {
			return nil
		}
		return c.Hints.ForZones
	}
	hinted := keep(all, func(c candidate) bool { return len(hints(c)) > 0 })
	here := keep(hinted, func(c candidate) bool {
		return slices.ContainsFunc(hints(c), func(z discoveryv1.ForZone) bool { return z.Name == w.zone })
	})
	if len(hinted) < len(all) || len(here) == 0 {
		return all
	}
	return here
}

func keep(all []candidate, want func(candidate) bool) []candidate {
	var kept []candidate
	for _, c := range all {
		if want(c) {
			kept = append(kept, c)
		}
	}
	return kept
}
