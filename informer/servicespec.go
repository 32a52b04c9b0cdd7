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

// internal reads spec.internalTrafficPolicy; absent means Cluster (A8).
func (f *findings) internal(spec *corev1.ServiceSpec) selector.TrafficPolicy {
	if spec.InternalTrafficPolicy == nil {
		return selector.PolicyCluster
	}
	switch policy := *spec.InternalTrafficPolicy; policy {
	case corev1.ServiceInternalTrafficPolicyLocal:
		return selector.PolicyLocal
	case corev1.ServiceInternalTrafficPolicyCluster, "":
	default:
		f.add("spec.internalTrafficPolicy", string(policy), "is not Cluster or Local; taken as Cluster")
	}
	return selector.PolicyCluster
}

// external reads spec.externalTrafficPolicy, which counts only for a Service
// that has something external (A8).
func (f *findings) external(spec *corev1.ServiceSpec) selector.TrafficPolicy {
	switch policy := spec.ExternalTrafficPolicy; policy {
	case corev1.ServiceExternalTrafficPolicyLocal:
	case corev1.ServiceExternalTrafficPolicyCluster, "":
		return selector.PolicyCluster
	default:
		f.add("spec.externalTrafficPolicy", string(policy), "is not Cluster or Local; taken as Cluster")
		return selector.PolicyCluster
	}
	switch spec.Type {
	case corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer:
		return selector.PolicyLocal
	case corev1.ServiceTypeClusterIP, "":
		if len(spec.ExternalIPs) > 0 {
			return selector.PolicyLocal
		}
	}
	return selector.PolicyCluster
}

// affinity reads how long a client is remembered; 0 means not at all (A9).
func (f *findings) affinity(spec *corev1.ServiceSpec) time.Duration {
	switch spec.SessionAffinity {
	case corev1.ServiceAffinityClientIP:
	case corev1.ServiceAffinityNone, "":
		return 0
	default:
		f.add("spec.sessionAffinity", string(spec.SessionAffinity), "is not None or ClientIP; taken as None")
		return 0
	}
	config := spec.SessionAffinityConfig
	if config == nil || config.ClientIP == nil || config.ClientIP.TimeoutSeconds == nil {
		return defaultAffinity
	}
	seconds := *config.ClientIP.TimeoutSeconds
	timeout := time.Duration(seconds) * time.Second
	if timeout <= 0 || timeout > maxAffinity {
		f.add("spec.sessionAffinityConfig.clientIP.timeoutSeconds", fmt.Sprint(seconds),
			"is not within 1 and 86400; taken as 10800")
		return defaultAffinity
	}
	return timeout
}

func (f *findings) distribution(spec *corev1.ServiceSpec) string {
	if spec.TrafficDistribution == nil {
		return ""
	}
	return intern(shorten(*spec.TrafficDistribution, maxWord))
}

// externalIPs reads spec.externalIPs of the Service's families (A4).
func (f *findings) externalIPs(spec *corev1.ServiceSpec, clusterIPs []netip.Addr) []netip.Addr {
	var out []netip.Addr
	for _, text := range spec.ExternalIPs {
		out = f.dialled(out, clusterIPs, "spec.externalIPs", text)
	}
	return sorted(out)
}

// loadBalancerIPs reads the addresses a load balancer brings to the node
// unchanged (LB1): ipMode VIP, also when absent. What has ipMode Proxy, or a
// host name only, arrives under another address.
func (f *findings) loadBalancerIPs(status *corev1.ServiceStatus, clusterIPs []netip.Addr) []netip.Addr {
	var out []netip.Addr
	for i := range status.LoadBalancer.Ingress {
		ingress := &status.LoadBalancer.Ingress[i]
		if mode := ingress.IPMode; mode == nil || *mode == corev1.LoadBalancerIPModeVIP {
			out = f.dialled(out, clusterIPs, "status.loadBalancer.ingress.ip", ingress.IP)
		}
	}
	return sorted(out)
}

// dialled appends an address that clients dial. Empty text and addresses of a
// family without a cluster IP are left out silently (A4, A7).
func (f *findings) dialled(list, clusterIPs []netip.Addr, field, text string) []netip.Addr {
	if text == "" {
		return list
	}
	addr, reason := serviceAddr(text)
	if reason != "" {
		f.add(field, strings.Clone(text), reason+"; it is left out")
		return list
	}
	if !slices.ContainsFunc(clusterIPs, func(ip netip.Addr) bool { return ip.Is6() == addr.Is6() }) {
		return list
	}
	return append(list, addr)
}

// restrict reads spec.loadBalancerSourceRanges. White space around an entry is
// allowed (LB2), and so is an address in the place of a prefix's network. If
// there are entries but none can be used, the load-balancer addresses are left
// out: no range would mean no restriction, and a typing error must not open
// what should be closed.
func (f *findings) restrict(s *service, spec *corev1.ServiceSpec) {
	var out []netip.Prefix
	given := false
	for _, text := range spec.LoadBalancerSourceRanges {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		given = true
		p, reason := parsePrefix(text)
		if reason != "" {
			f.add("spec.loadBalancerSourceRanges", strings.Clone(text), reason+"; it is left out")
			continue
		}
		out = append(out, p)
	}
	slices.SortFunc(out, netip.Prefix.Compare)
	s.sourceRanges = slices.Clip(slices.Compact(out))
	if given && len(out) == 0 && len(s.loadBalancerIPs) > 0 {
		f.add("spec.loadBalancerSourceRanges", strings.Join(spec.LoadBalancerSourceRanges, ","),
			"has no range that can be used; the load-balancer addresses are left out")
		s.loadBalancerIPs = nil
	}
}

// healthCheckPort reads the port of the health check (H1), which only a load
// balancer's Service with external policy Local has.
func (f *findings) healthCheckPort(spec *corev1.ServiceSpec) uint16 {
	port := spec.HealthCheckNodePort
	switch {
	case port == 0 || spec.Type != corev1.ServiceTypeLoadBalancer,
		spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal:
		return 0
	case port < 0 || port > 65535:
		f.add("spec.healthCheckNodePort", fmt.Sprint(port), "is not a port number; there is no health check")
		return 0
	}
	return uint16(port)
}

func sorted(list []netip.Addr) []netip.Addr {
	slices.SortFunc(list, netip.Addr.Compare)
	return slices.Clip(slices.Compact(list))
}
