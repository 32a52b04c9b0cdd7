package agent

import (
	"net/netip"

	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/selector"
)

// Clients is a stable word for those whom an answer is for.
type Clients string

// The clients of an answer.
const (
	// AllClients: wherever they are.
	AllClients Clients = "all"
	// InsideClients: pods and this node itself. Policy Local does not bind them:
	// they could as well leave the cluster and come back through the load
	// balancer.
	InsideClients Clients = "inside"
	// OutsideClients: all but pods and this node.
	OutsideClients Clients = "outside"
)

// ExternalExplanation explains what of a service port is dialled from outside the
// cluster: its node port, load-balancer and external addresses.
type ExternalExplanation struct {
	NodePort        uint16       `json:"nodePort,omitempty"`
	LoadBalancerIPs []netip.Addr `json:"loadBalancerIPs,omitempty"`
	ExternalIPs     []netip.Addr `json:"externalIPs,omitempty"`
	// SourceRanges, if not empty, are the only sources that may dial
	// LoadBalancerIPs.
	SourceRanges []netip.Prefix `json:"sourceRanges,omitempty"`
	// TrafficPolicy is the Service's externalTrafficPolicy.
	TrafficPolicy string `json:"trafficPolicy"`
	// Answers holds one answer for all clients, or one for clients outside and one
	// for those inside.
	Answers []ClientsExplanation `json:"answers"`
}

// ClientsExplanation explains the answer for some clients.
type ClientsExplanation struct {
	Clients Clients `json:"clients"`
	AnswerExplanation
}

// explainExternal explains a port to clients outside, nil where they cannot dial
// it.
func (p *policy) explainExternal(port *informer.ServicePort, env environment) *ExternalExplanation {
	if !hasExternal(port) {
		return nil
	}
	x := &ExternalExplanation{
		NodePort: port.NodePort, LoadBalancerIPs: port.LoadBalancerIPs, ExternalIPs: port.ExternalIPs,
		TrafficPolicy: port.Port.External.String(),
	}
	if len(port.LoadBalancerIPs) > 0 {
		x.SourceRanges = allowedSources(port, env.nodeAddrs)
	}
	add := func(clients Clients, req *selector.Request) {
		x.Answers = append(x.Answers, ClientsExplanation{Clients: clients, AnswerExplanation: p.explain(req)})
	}
	inside, outside := env.externalRequests(port)
	if outside == nil {
		add(AllClients, inside)
		return x
	}
	add(OutsideClients, outside)
	add(InsideClients, inside)
	return x
}
