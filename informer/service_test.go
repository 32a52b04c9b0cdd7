package informer

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nearside/nearside/selector"
)

func ptr[T any](v T) *T { return &v }

func addrs(texts ...string) []netip.Addr {
	var out []netip.Addr
	for _, text := range texts {
		out = append(out, netip.MustParseAddr(text))
	}
	return out
}

func ranges(texts ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, text := range texts {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

// newService returns a plain Service; edit changes it.
func newService(edit ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"},
		Spec: corev1.ServiceSpec{
			ClusterIP: "10.96.0.10",
			Ports:     []corev1.ServicePort{{Name: "http", Protocol: "TCP", Port: 80}},
		},
	}
	for _, e := range edit {
		e(s)
	}
	return s
}

func TestWhichServicesAreTaken(t *testing.T) {
	tests := []struct {
		name string
		edit func(*corev1.Service)
		want []netip.Addr // nil: not taken
	}{
		{name: "A3: without ipFamilies the family of clusterIP decides", edit: func(*corev1.Service) {}, want: addrs("10.96.0.10")},
		{
			name: "A1: another proxy's label, with a name",
			edit: func(s *corev1.Service) { s.Labels = map[string]string{labelProxyName: "other"} },
		},
		{
			name: "A1: another proxy's label, even empty",
			edit: func(s *corev1.Service) { s.Labels = map[string]string{labelProxyName: ""} },
		},
		{name: "A2: headless", edit: func(s *corev1.Service) { s.Spec.ClusterIP = "None" }},
		{
			name: "A2: headless with external IPs, node port and load balancer",
			edit: func(s *corev1.Service) {
				s.Spec.ClusterIP = "None"
				s.Spec.ExternalIPs = []string{"198.51.100.70"}
				s.Spec.Ports[0].NodePort = 30080
				s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.51.100.71"}}
			},
		},
		{name: "A2: no cluster IP", edit: func(s *corev1.Service) { s.Spec.ClusterIP = "" }},
		{
			name: "A2: ExternalName with a stale cluster IP",
			edit: func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName },
		},
		{
			name: "A3: each family that has a cluster IP, in the object's order",
			edit: func(s *corev1.Service) {
				s.Spec.ClusterIP, s.Spec.ClusterIPs = "fd00:10::a", []string{"fd00:10::a", "10.96.0.10"}
				s.Spec.IPFamilies = []corev1.IPFamily{"IPv6", "IPv4"}
			},
			want: addrs("fd00:10::a", "10.96.0.10"),
		},
		{
			name: "A3: a family without an address is not served",
			edit: func(s *corev1.Service) {
				s.Spec.ClusterIPs = []string{"10.96.0.10"}
				s.Spec.IPFamilies = []corev1.IPFamily{"IPv4", "IPv6"}
			},
			want: addrs("10.96.0.10"),
		},
		{
			name: "A7: leading zeros in the cluster IP",
			edit: func(s *corev1.Service) { s.Spec.ClusterIP = "010.096.0.010" },
			want: addrs("10.96.0.10"),
		},
		{name: "no port that can be served", edit: func(s *corev1.Service) { s.Spec.Ports = nil }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := convertService(newService(tt.edit))
			require.Empty(t, c.problems)
			require.Equal(t, key{kindService, Name{"demo", "web"}}, c.key)
			if tt.want == nil {
				require.Nil(t, c.record)
				return
			}
			require.Equal(t, tt.want, c.record.(*service).clusterIPs)
		})
	}
}

func TestServiceFields(t *testing.T) {
	tests := []struct {
		name string
		edit func(*corev1.Service)
		want func(*service)
	}{
		{name: "A8: absent policies are Cluster", edit: func(*corev1.Service) {}, want: func(*service) {}},
		{
			name: "A8: internal policy Local",
			edit: func(s *corev1.Service) { s.Spec.InternalTrafficPolicy = ptr(corev1.ServiceInternalTrafficPolicyLocal) },
			want: func(s *service) { s.internal = selector.PolicyLocal },
		},
		{
			name: "A8: external policy Local of a NodePort Service",
			edit: func(s *corev1.Service) { s.Spec.Type, s.Spec.ExternalTrafficPolicy = "NodePort", "Local" },
			want: func(s *service) { s.external = selector.PolicyLocal },
		},
		{
			name: "A8: external policy Local of a LoadBalancer Service",
			edit: func(s *corev1.Service) { s.Spec.Type, s.Spec.ExternalTrafficPolicy = "LoadBalancer", "Local" },
			want: func(s *service) { s.external = selector.PolicyLocal },
		},
		{
			name: "A8: external policy Local of a ClusterIP Service with external IPs",
			edit: func(s *corev1.Service) {
				s.Spec.Type, s.Spec.ExternalTrafficPolicy = "ClusterIP", "Local"
				s.Spec.ExternalIPs = []string{"198.51.100.7"}
			},
			want: func(s *service) { s.external, s.externalIPs = selector.PolicyLocal, addrs("198.51.100.7") },
		},
		{
			name: "A8: external policy Local of a plain ClusterIP Service is Cluster",
			edit: func(s *corev1.Service) { s.Spec.Type, s.Spec.ExternalTrafficPolicy = "ClusterIP", "Local" },
			want: func(*service) {},
		},
		{
			name: "A9: ClientIP affinity without configuration lasts three hours",
			edit: func(s *corev1.Service) { s.Spec.SessionAffinity = "ClientIP" },
			want: func(s *service) { s.affinity = 10800 * time.Second },
		},
		{
			name: "A9: ClientIP affinity without a timeout lasts three hours",
			edit: func(s *corev1.Service) {
				s.Spec.SessionAffinity = "ClientIP"
				s.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{}}
			},
			want: func(s *service) { s.affinity = 10800 * time.Second },
		},
		{
			name: "S1: the timeout of ClientIP affinity",
			edit: func(s *corev1.Service) {
				s.Spec.SessionAffinity = "ClientIP"
				s.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{
					ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: ptr[int32](30)},
				}
			},
			want: func(s *service) { s.affinity = 30 * time.Second },
		},
		{
			name: "A9: a timeout without ClientIP affinity means nothing",
			edit: func(s *corev1.Service) {
				s.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{
					ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: ptr[int32](30)},
				}
			},
			want: func(*service) {},
		},
		{
			name: "A9: an absent protocol is TCP",
			edit: func(s *corev1.Service) { s.Spec.Ports[0].Protocol = "" },
			want: func(*service) {},
		},
		{
			name: "A6: TCP and UDP may share number and name",
			edit: func(s *corev1.Service) {
				s.Spec.Ports = []corev1.ServicePort{{Port: 53, Protocol: "TCP"}, {Port: 53, Protocol: "UDP"}}
			},
			want: func(s *service) { s.ports = []servicePort{{"", "TCP", 53, 0}, {"", "UDP", 53, 0}} },
		},
		{
			name: "A5: node port and load balancer addresses count whatever the type",
			edit: func(s *corev1.Service) {
				s.Spec.Ports[0].NodePort = 30080
				s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.51.100.9"}}
			},
			want: func(s *service) { s.ports[0].nodePort, s.loadBalancerIPs = 30080, addrs("198.51.100.9") },
		},
		{
			name: "A4: external addresses of a family without cluster IP do nothing",
			edit: func(s *corev1.Service) {
				s.Spec.ExternalIPs = []string{"2001:db8::7", "", "198.51.100.7"}
				s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "2001:db8::8"}}
			},
			want: func(s *service) { s.externalIPs = addrs("198.51.100.7") },
		},
		{
			name: "LB1: ipMode Proxy and host names bring no address, ipMode VIP does",
			edit: func(s *corev1.Service) {
				s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{
					{IP: "198.51.100.1", IPMode: ptr(corev1.LoadBalancerIPModeProxy)},
					{Hostname: "lb.example.com"},
					{IP: "198.51.100.3", IPMode: ptr(corev1.LoadBalancerIPModeVIP)},
					{IP: "198.51.100.2"},
				}
			},
			want: func(s *service) { s.loadBalancerIPs = addrs("198.51.100.2", "198.51.100.3") },
		},
		{
			name: "LB2: source ranges of both families, with white space and host bits",
			edit: func(s *corev1.Service) {
				s.Spec.LoadBalancerSourceRanges = []string{" 203.0.113.7/24\t", "", "2001:db8::/32", "203.0.113.0/24"}
			},
			want: func(s *service) { s.sourceRanges = ranges("203.0.113.0/24", "2001:db8::/32") },
		},
		{
			name: "H1: the health check port of a load balancer with external policy Local",
			edit: func(s *corev1.Service) {
				s.Spec.Type, s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = "LoadBalancer", "Local", 32080
			},
			want: func(s *service) { s.external, s.healthCheckPort = selector.PolicyLocal, 32080 },
		},
		{
			name: "H1: the health check port of anything else means nothing",
			edit: func(s *corev1.Service) { s.Spec.Type, s.Spec.HealthCheckNodePort = "LoadBalancer", 32080 },
			want: func(*service) {},
		},
		{
			name: "T5: the traffic distribution is handed on as written",
			edit: func(s *corev1.Service) { s.Spec.TrafficDistribution = ptr("PreferClose") },
			want: func(s *service) { s.distribution = "PreferClose" },
		},
		{
			name: "the policy annotation is handed on as written, but not at any length",
			edit: func(s *corev1.Service) {
				s.Annotations = map[string]string{annotationPolicy: "Über" + strings.Repeat("ü", 10_000)}
			},
			want: func(s *service) { s.policy = "Über" + strings.Repeat("ü", 61) },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := &service{clusterIPs: addrs("10.96.0.10"), ports: []servicePort{{"http", "TCP", 80, 0}}}
			tt.want(want)
			c := convertService(newService(tt.edit))
			require.Empty(t, c.problems)
			require.Equal(t, want, c.record)
			require.True(t, want.equal(c.record.(*service)))
		})
	}
}
