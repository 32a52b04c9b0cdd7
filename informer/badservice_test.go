package informer

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/nearside/nearside/selector"
)

type badValue struct {
	name  string
	edit  func(*corev1.Service)
	field string
	value string
	want  func(*service) // nil: nothing of the Service is left
}

var badExternals = []badValue{
	{
		name:  "A7: an external IP that is none",
		edit:  func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"198.51.100.7", "nonsense"} },
		field: "spec.externalIPs", value: `"nonsense"`,
		want: func(s *service) { s.externalIPs = addrs("198.51.100.7") },
	},
	{
		name: "A7: a blank load-balancer address",
		edit: func(s *corev1.Service) {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: " "}, {IP: "198.51.100.1"}}
		},
		field: "status.loadBalancer.ingress.ip", value: `" "`,
		want: func(s *service) { s.loadBalancerIPs = addrs("198.51.100.1") },
	},
	{
		name: "LB2: a source range that is none",
		edit: func(s *corev1.Service) {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.51.100.1"}}
			s.Spec.LoadBalancerSourceRanges = []string{"203.0.113.0/24", "203.0.113.0"}
		},
		field: "spec.loadBalancerSourceRanges", value: `"203.0.113.0"`,
		want: func(s *service) {
			s.loadBalancerIPs, s.sourceRanges = addrs("198.51.100.1"), ranges("203.0.113.0/24")
		},
	},
	{
		name: "H1: a health check port out of range",
		edit: func(s *corev1.Service) {
			s.Spec.Type, s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = "LoadBalancer", "Local", 70000
		},
		field: "spec.healthCheckNodePort", value: `"70000"`,
		want: func(s *service) { s.external = selector.PolicyLocal },
	},
}

// Without a single range that can be used, a Service would be open to all.
func TestASourceRangeThatIsNoneOpensNothing(t *testing.T) {
	c := convertService(newService(func(s *corev1.Service) {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.51.100.1"}}
		s.Spec.LoadBalancerSourceRanges = []string{"203.0.113.0/240"}
	}))
	require.Empty(t, c.record.(*service).loadBalancerIPs)
	require.Equal(t, addrs("10.96.0.10"), c.record.(*service).clusterIPs, "the rest of the Service is served")
	require.Len(t, c.problems, 2)
	require.Contains(t, c.problems[1].Reason, "the load-balancer addresses are left out")
}

func TestBadServiceValuesCostOnlyThemselves(t *testing.T) {
	tests := []badValue{
		{
			name:  "A7: a cluster IP that is none",
			edit:  func(s *corev1.Service) { s.Spec.ClusterIP = "10.96.0.300" },
			field: "spec.clusterIPs", value: `"10.96.0.300"`,
		},
		{
			name: "A3: one bad address does not hurt the other family",
			edit: func(s *corev1.Service) {
				s.Spec.ClusterIPs = []string{"10.96.0.10", "fd00::bad::"}
				s.Spec.IPFamilies = []corev1.IPFamily{"IPv4", "IPv6"}
			},
			field: "spec.clusterIPs", value: `"fd00::bad::"`, want: func(*service) {},
		},
		{
			name: "A3: an address that is not of its family",
			edit: func(s *corev1.Service) {
				s.Spec.ClusterIPs = []string{"10.96.0.10", "10.96.0.11"}
				s.Spec.IPFamilies = []corev1.IPFamily{"IPv4", "IPv6"}
			},
			field: "spec.clusterIPs", value: `"10.96.0.11"`, want: func(*service) {},
		},
		{
			name: "A3: a second address without ipFamilies",
			edit: func(s *corev1.Service) {
				s.Spec.ClusterIPs = []string{"10.96.0.10", "fd00::1"}
			},
			field: "spec.clusterIPs", value: `"fd00::1"`, want: func(*service) {},
		},
		{
			name: "A3: two addresses of one family",
			edit: func(s *corev1.Service) {
				s.Spec.ClusterIPs = []string{"10.96.0.10", "10.96.0.11"}
				s.Spec.IPFamilies = []corev1.IPFamily{"IPv4", "IPv4"}
			},
			field: "spec.clusterIPs", value: `"10.96.0.11"`, want: func(*service) {},
		},
		{
			name:  "a name that is longer than a DNS label",
			edit:  func(s *corev1.Service) { s.Name = strings.Repeat("x", 253) },
			field: "metadata.name", value: `"` + strings.Repeat("x", 64) + `"...`,
		},
		{
			name:  "a name that would make namespace/name ambiguous",
			edit:  func(s *corev1.Service) { s.Name = "a/b" },
			field: "metadata.name", value: `"a/b"`,
		},
		{
			name:  "a namespace that would write to a terminal",
			edit:  func(s *corev1.Service) { s.Namespace = "\x1b[2J" },
			field: "metadata.namespace", value: `"\x1b[2J"`,
		},
		{
			name: "a port number out of range",
			edit: func(s *corev1.Service) {
				s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "b", Port: 65536})
			},
			field: "spec.ports.port", value: `"65536"`, want: func(*service) {},
		},
		{
			name: "a protocol that is none",
			edit: func(s *corev1.Service) {
				s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "b", Port: 81, Protocol: "tcp"})
			},
			field: "spec.ports.protocol", value: `"tcp"`, want: func(*service) {},
		},
		{
			name: "a port name that is none",
			edit: func(s *corev1.Service) {
				s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "b\n", Port: 81})
			},
			field: "spec.ports.name", value: `"b\n"`, want: func(*service) {},
		},
		{
			name: "a duplicate frontend",
			edit: func(s *corev1.Service) {
				s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "b", Port: 80})
			},
			field: "spec.ports", value: `"b 80/TCP"`, want: func(*service) {},
		},
		{
			name: "A6: two ports that cannot be told apart by name",
			edit: func(s *corev1.Service) {
				s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "http", Port: 81})
			},
			field: "spec.ports", value: `"http 81/TCP"`, want: func(*service) {},
		},
		{
			name:  "a node port out of range",
			edit:  func(s *corev1.Service) { s.Spec.Ports[0].NodePort = -1 },
			field: "spec.ports.nodePort", value: `"-1"`, want: func(*service) {},
		},
		{
			name: "an internal policy that is none is Cluster",
			edit: func(s *corev1.Service) {
				s.Spec.InternalTrafficPolicy = ptr(corev1.ServiceInternalTrafficPolicy("local"))
			},
			field: "spec.internalTrafficPolicy", value: `"local"`, want: func(*service) {},
		},
		{
			name:  "an external policy that is none is Cluster",
			edit:  func(s *corev1.Service) { s.Spec.Type, s.Spec.ExternalTrafficPolicy = "NodePort", "Global" },
			field: "spec.externalTrafficPolicy", value: `"Global"`, want: func(*service) {},
		},
		{
			name:  "an affinity that is none means none",
			edit:  func(s *corev1.Service) { s.Spec.SessionAffinity = "Cookie" },
			field: "spec.sessionAffinity", value: `"Cookie"`, want: func(*service) {},
		},
		{
			name: "S1: a timeout out of range is the default",
			edit: func(s *corev1.Service) {
				s.Spec.SessionAffinity = "ClientIP"
				s.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{
					ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: ptr[int32](0)},
				}
			},
			field: "spec.sessionAffinityConfig.clientIP.timeoutSeconds", value: `"0"`,
			want: func(s *service) { s.affinity = 10800 * time.Second },
		},
	}
	tests = append(tests, badExternals...)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := convertService(newService(tt.edit))
			require.Len(t, c.problems, 1)
			p := c.problems[0]
			require.Equal(t, "Service", p.Kind)
			require.Equal(t, tt.field, p.Field)
			require.Equal(t, tt.value, p.Value)
			require.NotEmpty(t, p.Reason)
			require.True(t, plain(strings.ReplaceAll(strings.ReplaceAll(p.String(), " ", ""), `"`, "")), "%s", p)
			if tt.want == nil {
				require.Nil(t, c.record)
				return
			}
			want := &service{clusterIPs: addrs("10.96.0.10"), ports: []servicePort{{"http", "TCP", 80, 0}}}
			tt.want(want)
			require.Equal(t, want, c.record)
		})
	}
}
