package agent

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/nft"
	"github.com/nearside/nearside/selector"
)

// Explanation says which endpoints of a service get connections from this node,
// with what weights, and why. Its JSON form is stable: fields may be added,
// none changes its meaning.
type Explanation struct {
	Namespace string `json:"namespace"`
	Service   string `json:"service"`
	// Node and Zone are where the connections start; Nodes is the number of
	// nodes in the cluster, 0 when not known.
	Node  string `json:"node"`
	Zone  string `json:"zone,omitempty"`
	Nodes int    `json:"nodes"`
	// Policy is the selector that decides, and PolicySource where its name comes
	// from: "annotation" or "default".
	Policy       string `json:"policy"`
	PolicySource string `json:"policySource"`
	// UnknownPolicy is the value of an annotation that names no policy and was
	// treated as absent.
	UnknownPolicy string `json:"unknownPolicy,omitempty"`
	// Ports holds one explanation for each service port and IP family.
	Ports []PortExplanation `json:"ports"`
}

// PortExplanation explains one service port in one IP family.
type PortExplanation struct {
	Port     string `json:"port,omitempty"`
	Protocol string `json:"protocol"`
	Family   string `json:"family"`
	// ClusterIP is the address and port that clients dial.
	ClusterIP netip.AddrPort `json:"clusterIP"`
	// TrafficPolicy is the Service's internalTrafficPolicy.
	TrafficPolicy string `json:"trafficPolicy"`
	// The answer is for those who dial the ClusterIP.
	AnswerExplanation
	// External explains what clients outside dial; nil if there is nothing.
	External *ExternalExplanation `json:"external,omitempty"`
}

// AnswerExplanation explains one answer of a selector.
type AnswerExplanation struct {
	// Scope is the circle the endpoints were chosen from: node, zone or cluster.
	Scope string `json:"scope"`
	// Fallback is true when the policy could not do what it would rather do.
	Fallback bool `json:"fallback"`
	// Empty is what clients meet when no endpoint was chosen: reject or drop.
	Empty string `json:"empty,omitempty"`
	// Code is a stable word for the reason, Reason a sentence for people.
	Code   string `json:"code"`
	Reason string `json:"reason"`
	// Endpoints holds every endpoint, chosen or not.
	Endpoints []selector.Explanation `json:"endpoints"`
}

// Target names what to explain: a service, or one of its ports.
type Target struct {
	Service informer.Name
	// Port is the name or the number of a service port; empty means all.
	Port string
}

// ParseTarget reads NAMESPACE/SERVICE or NAMESPACE/SERVICE:PORT, where PORT is
// the name or the number of a service port.
func ParseTarget(text string) (Target, error) {
	invalid := fmt.Errorf("parse %q: expected NAMESPACE/SERVICE or NAMESPACE/SERVICE:PORT", text)
	namespace, rest, ok := strings.Cut(text, "/")
	if !ok || namespace == "" || strings.Contains(rest, "/") {
		return Target{}, invalid
	}
	service, port, hasPort := strings.Cut(rest, ":")
	if service == "" || hasPort && port == "" || strings.Contains(port, ":") {
		return Target{}, invalid
	}
	return Target{Service: informer.Name{Namespace: namespace, Name: service}, Port: port}, nil
}

// String returns the target as ParseTarget reads it.
func (t Target) String() string {
	if t.Port == "" {
		return t.Service.String()
	}
	return t.Service.String() + ":" + t.Port
}

// Explain says what the agent selects for a service, from the state it has now.
// It asks the selectors anew, which costs nothing but that service, and does
// not look at the kernel. It may be called from any goroutine while the agent
// runs; without a running agent call Load first.
func (a *Agent) Explain(_ context.Context, t Target) (*Explanation, error) {
	service, ok := a.store.Service(t.Service)
	if !ok {
		return nil, fmt.Errorf("find service %q: there is none with a ClusterIP among the %d known; check the name and the namespace",
			t.Service, len(a.store.Services()))
	}
	env := a.currentEnvironment()
	x := a.policies.explain(service, env)
	for i := range service.Ports {
		if t.matches(&service.Ports[i]) {
			x.Ports = append(x.Ports, explainPort(&service.Ports[i], a.policies, service, env))
		}
	}
	if len(x.Ports) == 0 && t.Port != "" {
		return nil, fmt.Errorf("find port %q of service %q: expected one of %s", t.Port, t.Service, portList(service))
	}
	return x, nil
}

func (t Target) matches(p *informer.ServicePort) bool {
	return t.Port == "" || t.Port == p.Port.Name || t.Port == strconv.Itoa(int(p.ClusterIP.Port()))
}

// explain answers what concerns the service as a whole.
func (p *policies) explain(s *informer.Service, env environment) *Explanation {
	chosen, known := p.choose(s.Policy)
	x := &Explanation{
		Namespace: s.Name.Namespace, Service: s.Name.Name,
		Node: env.node.Name, Zone: env.node.Zone, Nodes: env.nodes,
		Policy: chosen.name, PolicySource: "default",
		Ports: []PortExplanation{},
	}
	switch {
	case !known:
		x.UnknownPolicy = s.Policy
	case s.Policy != "":
		x.PolicySource = "annotation"
	}
	return x
}

func explainPort(port *informer.ServicePort, p *policies, s *informer.Service, env environment) PortExplanation {
	chosen, _ := p.choose(s.Policy)
	req := env.request(port)
	return PortExplanation{
		Port: port.Port.Name, Protocol: port.Port.Protocol,
		Family:    familyLabel(nft.FamilyOf(port.ClusterIP.Addr())),
		ClusterIP: port.ClusterIP, TrafficPolicy: req.Policy().String(),
		AnswerExplanation: chosen.explain(req),
		External:          chosen.explainExternal(port, env),
	}
}

// explain asks the policy and says why it answers as it does.
func (p *policy) explain(req *selector.Request) AnswerExplanation {
	sel := p.selector.Select(req)
	x := AnswerExplanation{
		Scope: sel.Scope.String(), Fallback: sel.Fallback,
		Code: string(sel.Reason.Code), Reason: sel.Reason.Text,
		Endpoints: selector.Explain(req, sel),
	}
	if len(sel.Backends) == 0 {
		x.Empty = sel.Empty.String()
	}
	return x
}

// portList names the ports of a service for an error, each once.
func portList(s *informer.Service) string {
	var words []string
	seen := make(map[string]bool)
	for i := range s.Ports {
		p := &s.Ports[i]
		word := strconv.Itoa(int(p.ClusterIP.Port()))
		if p.Port.Name != "" {
			word = fmt.Sprintf("%q (%s)", p.Port.Name, word)
		}
		if !seen[word] {
			seen[word] = true
			words = append(words, word)
		}
	}
	return strings.Join(words, ", ")
}
