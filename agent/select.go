package agent

import (
	"net/netip"

	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/selector"
)

// selection is the answer for one service.
type selection struct {
	service *informer.Service
	policy  *policy
	// known is false if the service's annotation names no policy.
	known bool
	// ports holds one answer for each of service.Ports.
	ports []selector.Selection
	// external holds the answers for clients outside, nil where there are none.
	external []*externalSelection
	// nodeAddrs are the node's own addresses.
	nodeAddrs []netip.Addr
}

// selectService asks the service's policy about each of its ports.
func (p *policies) selectService(s *informer.Service, env environment) *selection {
	chosen, known := p.choose(s.Policy)
	sel := &selection{
		service: s, policy: chosen, known: known,
		ports:    make([]selector.Selection, len(s.Ports)),
		external: make([]*externalSelection, len(s.Ports)), nodeAddrs: env.nodeAddrs,
	}
	for i := range s.Ports {
		sel.ports[i] = chosen.selector.Select(env.request(&s.Ports[i]))
		sel.external[i] = chosen.selectExternal(&s.Ports[i], env)
	}
	return sel
}

// request is the question about a service port: where connections that start on
// this node and dial the ClusterIP go.
func (e environment) request(p *informer.ServicePort) *selector.Request {
	return &selector.Request{
		Port:      p.Port,
		Traffic:   selector.Internal,
		Node:      e.node,
		Nodes:     e.nodes,
		Endpoints: p.Endpoints,
	}
}

// notices returns what the selection gives reason to say.
func (s *selection) notices() (notices []Notice) {
	if !s.known {
		notices = append(notices, noticeOfPolicy(s.service, s.policy.name))
	}
	if port := unrestricted(s.service); port != nil {
		notices = append(notices, noticeOfUnrestricted(s.service, port))
	}
	return notices
}
