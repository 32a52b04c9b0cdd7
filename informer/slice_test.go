package informer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nearside/nearside/selector"
)

// newSlice returns an EndpointSlice of Service demo/web with port http 8080.
func newSlice(name string, endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "demo", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: "web"},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr("http"), Protocol: ptr(corev1.ProtocolTCP), Port: ptr[int32](8080)}},
		Endpoints:   endpoints,
	}
}

// ep returns a ready endpoint on a node; edit changes it.
func ep(addr, node string, edit ...func(*discoveryv1.Endpoint)) discoveryv1.Endpoint {
	e := discoveryv1.Endpoint{Addresses: []string{addr}, NodeName: ptr(node)}
	for _, f := range edit {
		f(&e)
	}
	return e
}

func state(ready, serving, terminating bool) func(*discoveryv1.Endpoint) {
	return func(e *discoveryv1.Endpoint) {
		e.Conditions = discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving, Terminating: &terminating}
	}
}

func TestWhichSlicesAreTaken(t *testing.T) {
	tests := []struct {
		name    string
		edit    func(*discoveryv1.EndpointSlice)
		taken   bool
		problem string
	}{
		{name: "B1: a slice with a service name", edit: func(*discoveryv1.EndpointSlice) {}, taken: true},
		{name: "B1: a slice without labels", edit: func(s *discoveryv1.EndpointSlice) { s.Labels = nil }},
		{
			name: "B1: a slice with an empty service name",
			edit: func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelServiceName] = "" },
		},
		{
			name:  "B1: a slice of any manager",
			edit:  func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelManagedBy] = "somebody" },
			taken: true,
		},
		{name: "B2: an FQDN slice", edit: func(s *discoveryv1.EndpointSlice) { s.AddressType = "FQDN" }},
		{
			name:    "B2: an address type that is none",
			edit:    func(s *discoveryv1.EndpointSlice) { s.AddressType = "ipv4" },
			problem: `EndpointSlice demo/web-1 addressType "ipv4": is not IPv4, IPv6 or FQDN; the slice is left out`,
		},
		{
			name: "B3: a slice of a headless Service",
			edit: func(s *discoveryv1.EndpointSlice) { s.Labels[corev1.IsHeadlessService] = "" },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			object := newSlice("web-1", ep("10.1.1.5", "node-a"))
			tt.edit(object)
			c := convertSlice(object, "node-a")
			require.Equal(t, tt.taken, c.record != nil)
			if tt.problem == "" {
				require.Empty(t, c.problems)
				return
			}
			require.Len(t, c.problems, 1)
			require.Equal(t, tt.problem, c.problems[0].String())
		})
	}
}

// joinOf returns the endpoints of the only service port.
func joinOf(t *testing.T, slices ...*discoveryv1.EndpointSlice) []selector.Endpoint {
	t.Helper()
	s := NewStore(StoreOptions{NodeName: "node-a", OnProblem: func(Problem) {}})
	require.NoError(t, s.Set(newService()))
	for _, slice := range slices {
		require.NoError(t, s.Set(slice))
	}
	service, ok := s.Service(Name{"demo", "web"})
	require.True(t, ok)
	require.Len(t, service.Ports, 1)
	return service.Ports[0].Endpoints
}

// text writes endpoints shortly: address, node, zone, hints and state.
func text(endpoints []selector.Endpoint) []string {
	out := []string{}
	for _, e := range endpoints {
		words := []string{e.Addr.String()}
		for _, word := range []string{e.Node, e.Zone, strings.Join(e.HintNodes, ","), strings.Join(e.HintZones, ",")} {
			if word != "" {
				words = append(words, word)
			}
		}
		if e.Ready {
			words = append(words, "ready")
		}
		if e.Serving != e.Ready {
			words = append(words, fmt.Sprintf("serving=%v", e.Serving))
		}
		if e.Terminating {
			words = append(words, "terminating")
		}
		out = append(out, strings.Join(words, " "))
	}
	return out
}

func port(name *string, protocol *corev1.Protocol, number *int32) discoveryv1.EndpointPort {
	return discoveryv1.EndpointPort{Name: name, Protocol: protocol, Port: number}
}

func TestEndpointsOfAServicePort(t *testing.T) {
	ports := func(s *discoveryv1.EndpointSlice, ports ...discoveryv1.EndpointPort) *discoveryv1.EndpointSlice {
		s.Ports = ports
		return s
	}
	tests := []struct {
		name   string
		slices []*discoveryv1.EndpointSlice
		want   []string
	}{
		{
			name: "E1: the union over all slices, in the order of addresses",
			slices: []*discoveryv1.EndpointSlice{
				newSlice("web-2", ep("10.1.1.9", "node-b"), ep("10.1.1.10", "node-b")),
				newSlice("web-1", ep("10.1.1.100", "node-a"), ep("10.1.1.8", "node-a")),
			},
			want: []string{
				"10.1.1.8:8080 node-a ready", "10.1.1.9:8080 node-b ready",
				"10.1.1.10:8080 node-b ready", "10.1.1.100:8080 node-a ready",
			},
		},
		{
			name: "E1: slices may give one port name different numbers",
			slices: []*discoveryv1.EndpointSlice{
				newSlice("web-1", ep("10.1.1.5", "node-a")),
				ports(newSlice("web-2", ep("10.1.1.5", "node-a"), ep("10.1.1.6", "node-a")), port(ptr("http"), nil, ptr[int32](9090))),
			},
			want: []string{
				"10.1.1.5:8080 node-a ready", "10.1.1.5:9090 node-a ready", "10.1.1.6:9090 node-a ready",
			},
		},
		{
			name:   "E1: a slice without ports adds nothing",
			slices: []*discoveryv1.EndpointSlice{ports(newSlice("web-1", ep("10.1.1.5", "node-a")))},
		},
		{
			name: "E1: a port without a number, or with number 0, is ignored",
			slices: []*discoveryv1.EndpointSlice{
				ports(newSlice("web-1", ep("10.1.1.5", "node-a")), port(ptr("http"), nil, nil), port(ptr("http"), nil, ptr[int32](0))),
			},
		},
		{
			name: "A6: ports match by name and protocol only",
			slices: []*discoveryv1.EndpointSlice{
				ports(newSlice("web-1", ep("10.1.1.5", "node-a")),
					port(ptr("http"), ptr(corev1.ProtocolUDP), ptr[int32](1)),
					port(ptr("https"), ptr(corev1.ProtocolTCP), ptr[int32](2)),
					port(ptr(""), ptr(corev1.ProtocolTCP), ptr[int32](80)),
					port(ptr("http"), ptr(corev1.ProtocolTCP), ptr[int32](3)),
				),
			},
			want: []string{"10.1.1.5:3 node-a ready"},
		},
		{
			name:   "A9: an absent protocol is TCP",
			slices: []*discoveryv1.EndpointSlice{ports(newSlice("web-1", ep("10.1.1.5", "node-a")), port(ptr("http"), nil, ptr[int32](7)))},
			want:   []string{"10.1.1.5:7 node-a ready"},
		},
		{
			name: "E2: only the first address counts, and none is no endpoint",
			slices: []*discoveryv1.EndpointSlice{
				newSlice("web-1", discoveryv1.Endpoint{}, discoveryv1.Endpoint{Addresses: []string{"10.1.1.5", "10.1.1.6"}}),
			},
			want: []string{"10.1.1.5:8080 ready"},
		},
		{
			name: "E3: conditions are taken as they are",
			slices: []*discoveryv1.EndpointSlice{
				newSlice("web-1",
					ep("10.1.1.1", "node-a"),
					ep("10.1.1.2", "node-a", state(true, true, true)),
					ep("10.1.1.3", "node-a", state(false, true, true)),
					ep("10.1.1.4", "node-a", state(false, false, false)),
				),
			},
			want: []string{
				"10.1.1.1:8080 node-a ready",
				"10.1.1.2:8080 node-a ready terminating",
				"10.1.1.3:8080 node-a serving=true terminating",
				"10.1.1.4:8080 node-a",
			},
		},
		{
			name: "E5: the same address and port in two slices is one endpoint",
			slices: []*discoveryv1.EndpointSlice{
				newSlice("web-1", ep("10.1.1.5", "node-a")), newSlice("web-2", ep("10.1.1.5", "node-a")),
			},
			want: []string{"10.1.1.5:8080 node-a ready"},
		},
		{
			name: "E5: an address written in two ways is one endpoint",
			slices: []*discoveryv1.EndpointSlice{
				newSlice("web-1", ep("10.1.1.5", "node-a"), ep("10.01.01.05", "node-a"), ep("::ffff:10.1.1.5", "node-a")),
			},
			want: []string{"10.1.1.5:8080 node-a ready"},
		},
		{
			name: "B2: a slice of another family adds nothing to this one",
			slices: []*discoveryv1.EndpointSlice{
				func() *discoveryv1.EndpointSlice {
					s := newSlice("web-6", ep("fd00:10::5", "node-a"))
					s.AddressType = discoveryv1.AddressTypeIPv6
					return s
				}(),
			},
		},
		{
			name: "T2, T3: hints are handed on",
			slices: []*discoveryv1.EndpointSlice{
				newSlice("web-1", ep("10.1.1.5", "node-b", func(e *discoveryv1.Endpoint) {
					e.Zone = ptr("zone-2")
					e.Hints = &discoveryv1.EndpointHints{
						ForNodes: []discoveryv1.ForNode{{Name: "node-a"}, {Name: "node-b"}},
						ForZones: []discoveryv1.ForZone{{Name: "zone-1"}},
					}
				})),
			},
			want: []string{"10.1.1.5:8080 node-b zone-2 node-a,node-b zone-1 ready"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == nil {
				tt.want = []string{}
			}
			require.Equal(t, tt.want, text(joinOf(t, tt.slices...)))
		})
	}
}

// Of two records of one address the better one wins, in whatever order they
// come: within a slice either way round, and in two slices either way round.
func TestWhichOfTwoRecordsOfAnAddressWins(t *testing.T) {
	tests := []struct {
		name          string
		better, worse discoveryv1.Endpoint
	}{
		{
			name:   "E5: not terminating before terminating, even if not ready",
			better: ep("10.1.1.5", "node-c", state(false, false, false)),
			worse:  ep("10.1.1.5", "node-a", state(true, true, true)),
		},
		{
			name:   "E5: ready before not ready",
			better: ep("10.1.1.5", "node-c"),
			worse:  ep("10.1.1.5", "node-a", state(false, true, false)),
		},
		{
			name:   "E5: serving before not serving",
			better: ep("10.1.1.5", "node-c", state(false, true, true)),
			worse:  ep("10.1.1.5", "node-a", state(false, false, true)),
		},
		{
			name:   "E5: on this node before elsewhere",
			better: ep("10.1.1.5", "node-a"),
			worse:  ep("10.1.1.5", "another-node"),
		},
		{
			name:   "E5: else by the name of the node",
			better: ep("10.1.1.5", "node-b"),
			worse:  ep("10.1.1.5", "node-c"),
		},
		{
			name:   "E5: else by the zone",
			better: ep("10.1.1.5", "node-b", func(e *discoveryv1.Endpoint) { e.Zone = ptr("zone-1") }),
			worse:  ep("10.1.1.5", "node-b", func(e *discoveryv1.Endpoint) { e.Zone = ptr("zone-2") }),
		},
		{
			name:   "E5: else by the hints",
			better: ep("10.1.1.5", "node-b"),
			worse: ep("10.1.1.5", "node-b", func(e *discoveryv1.Endpoint) {
				e.Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "zone-1"}}}
			}),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := text(joinOf(t, newSlice("web-1", tt.better)))
			for order, slices := range map[string][]*discoveryv1.EndpointSlice{
				"one slice, better first":  {newSlice("web-1", tt.better, tt.worse)},
				"one slice, worse first":   {newSlice("web-1", tt.worse, tt.better)},
				"two slices, better first": {newSlice("web-1", tt.better), newSlice("web-2", tt.worse)},
				"two slices, worse first":  {newSlice("web-1", tt.worse), newSlice("web-2", tt.better)},
			} {
				require.Equal(t, want, text(joinOf(t, slices...)), order)
			}
		})
	}
}

func TestBadSliceValuesCostOnlyThemselves(t *testing.T) {
	tests := []struct {
		name string
		edit func(*discoveryv1.EndpointSlice)
		want string
		// left are the endpoints that remain of 10.1.1.5 and the bad one.
		left []string
	}{
		{
			name: "E7: an address that is none",
			edit: func(s *discoveryv1.EndpointSlice) { s.Endpoints = append(s.Endpoints, ep("not-an-ip", "node-a")) },
			want: `EndpointSlice demo/web-1 endpoints.addresses "not-an-ip": is not an IP address; the endpoint is left out`,
			left: []string{"10.1.1.5:8080 node-a ready"},
		},
		{
			name: "E7: an endpoint of the wrong family",
			edit: func(s *discoveryv1.EndpointSlice) { s.Endpoints = append(s.Endpoints, ep("fd00:10::5", "node-a")) },
			want: `EndpointSlice demo/web-1 endpoints.addresses "fd00:10::5": is not of the slice's address type; the endpoint is left out`,
			left: []string{"10.1.1.5:8080 node-a ready"},
		},
		{
			name: "a port out of range",
			edit: func(s *discoveryv1.EndpointSlice) {
				s.Ports = append(s.Ports, port(ptr("http"), nil, ptr[int32](65536)))
			},
			want: `EndpointSlice demo/web-1 ports.port "65536": is not a port number; the port is left out`,
			left: []string{"10.1.1.5:8080 node-a ready"},
		},
		{
			name: "a protocol that is none",
			edit: func(s *discoveryv1.EndpointSlice) {
				s.Ports = append(s.Ports, port(ptr("http"), ptr(corev1.Protocol("ICMP")), ptr[int32](1)))
			},
			want: `EndpointSlice demo/web-1 ports.protocol "ICMP": is not TCP, UDP or SCTP; the port is left out`,
			left: []string{"10.1.1.5:8080 node-a ready"},
		},
		{
			name: "E4: a node name that is none makes the endpoint not local",
			edit: func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].NodeName = ptr("node\ta") },
			want: `EndpointSlice demo/web-1 endpoints.nodeName "node\ta": is not a name of a node or zone; taken as not known`,
			left: []string{"10.1.1.5:8080 ready"},
		},
		{
			name: "T3: a zone hint that is none is no hint",
			edit: func(s *discoveryv1.EndpointSlice) {
				s.Endpoints[0].Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: strings.Repeat("z", 300)}}}
			},
			want: `EndpointSlice demo/web-1 endpoints.hints.forZones "` + strings.Repeat("z", 64) +
				`"...: is not a name of a node or zone; taken as not known`,
			left: []string{"10.1.1.5:8080 node-a ready"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			object := newSlice("web-1", ep("10.1.1.5", "node-a"))
			tt.edit(object)
			c := convertSlice(object, "node-a")
			require.Len(t, c.problems, 1)
			require.Equal(t, tt.want, c.problems[0].String())
			require.Equal(t, tt.left, text(joinOf(t, object)))
		})
	}
}

// A slice that is bad throughout must not fill a log.
func TestProblemsOfOneObjectAreFew(t *testing.T) {
	object := newSlice("web-1")
	for i := range 1000 {
		object.Endpoints = append(object.Endpoints, ep(fmt.Sprintf("bad-%d", i), "node-a"))
	}
	c := convertSlice(object, "node-a")
	require.Len(t, c.problems, maxProblems+1)
	require.Contains(t, c.problems[maxProblems].Reason, "more values")

	same := newSlice("web-2", ep("bad", "node-a"), ep("bad", "node-b"))
	require.Len(t, convertSlice(same, "node-a").problems, 1, "one value, one problem")
}
