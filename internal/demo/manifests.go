package demo

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// manifests are the objects that the agents read, as files.
type manifests struct {
	folder string // watched by the agents
	draft  string // where files are written before they are moved there
	sc     *scenario
	addrs  map[string]netip.Addr // of pods
}

// newManifests makes the folders below base.
func newManifests(base string, sc *scenario, addrs map[string]netip.Addr) (*manifests, error) {
	m := &manifests{
		folder: filepath.Join(base, "manifests"), draft: filepath.Join(base, "draft"),
		sc: sc, addrs: addrs,
	}
	for _, folder := range []string{m.folder, m.draft} {
		if err := os.Mkdir(folder, 0o755); err != nil { //nolint:gosec // people may look
			return nil, err
		}
	}
	return m, nil
}

// writeNodes writes all Node objects.
func (m *manifests) writeNodes() error {
	var objects []any
	for _, name := range m.sc.nodes() {
		objects = append(objects, node(name, m.sc.zone(name)))
	}
	for _, name := range m.sc.idle {
		objects = append(objects, node(name, m.sc.zones[0].Name))
	}
	return m.write("nodes.yaml", objects)
}

// writeServices writes all Services with one policy.
func (m *manifests) writeServices(p policy) error {
	var objects []any
	for _, s := range m.sc.services {
		objects = append(objects, serviceObject(s, p))
	}
	return m.write("services.yaml", objects)
}

// writeEndpoints writes the EndpointSlice of each service.
func (m *manifests) writeEndpoints(now conditions) error {
	var objects []any
	for _, s := range m.sc.services {
		objects = append(objects, m.endpointSlice(s, now))
	}
	return m.write("endpoints.yaml", objects)
}

// write replaces a file in one step, so that no agent reads half of it.
func (m *manifests) write(name string, objects []any) error {
	var b bytes.Buffer
	for i, o := range objects {
		if i > 0 {
			b.WriteString("---\n")
		}
		text, err := yaml.Marshal(o)
		if err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		b.Write(text)
	}
	draft := filepath.Join(m.draft, name)
	if err := os.WriteFile(draft, b.Bytes(), 0o644); err != nil { //nolint:gosec // people may look
		return err
	}
	return os.Rename(draft, filepath.Join(m.folder, name))
}

func node(name, zone string) *corev1.Node {
	return &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelTopologyZone: zone,
		}},
	}
}

func serviceObject(s service, p policy) *corev1.Service {
	traffic := corev1.ServiceInternalTrafficPolicyCluster
	if p.local {
		traffic = corev1.ServiceInternalTrafficPolicyLocal
	}
	o := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: s.name},
		Spec: corev1.ServiceSpec{
			Type:                  corev1.ServiceTypeClusterIP,
			ClusterIP:             s.dialled.Addr().String(),
			ClusterIPs:            []string{s.dialled.Addr().String()},
			IPFamilies:            []corev1.IPFamily{corev1.IPv4Protocol},
			InternalTrafficPolicy: &traffic,
			Ports: []corev1.ServicePort{
				{Name: "http", Protocol: corev1.ProtocolTCP, Port: int32(s.dialled.Port())},
			},
		},
	}
	if p.annotation != "" {
		o.Annotations = map[string]string{"nearside.dev/policy": p.annotation}
	}
	return o
}

func (m *manifests) endpointSlice(s service, now conditions) *discoveryv1.EndpointSlice {
	name, protocol, port := "http", corev1.ProtocolTCP, int32(backendPort)
	o := &discoveryv1.EndpointSlice{
		TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: s.name + "-1",
			Labels: map[string]string{discoveryv1.LabelServiceName: s.name},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Protocol: &protocol, Port: &port}},
	}
	for _, p := range m.sc.pods {
		if p.service == s.name && now[p.name] != absent {
			o.Endpoints = append(o.Endpoints, m.endpoint(p, now[p.name]))
		}
	}
	return o
}

func (m *manifests) endpoint(p pod, c condition) discoveryv1.Endpoint {
	isReady, serving, leaves := c == ready, true, c == terminating
	zone := m.sc.zone(p.node)
	return discoveryv1.Endpoint{
		Addresses: []string{m.addrs[p.name].String()},
		NodeName:  &p.node,
		Zone:      &zone,
		Conditions: discoveryv1.EndpointConditions{
			Ready: &isReady, Serving: &serving, Terminating: &leaves,
		},
	}
}
