package agent

import (
	"context"
	"net/netip"

	"github.com/nearside/nearside/conntrack"
	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/nft"
	"github.com/nearside/nearside/selector"
)

// Flows deletes flows that a change left behind. *conntrack.Cleaner is the real
// one. The agent calls it from one goroutine at a time.
type Flows interface {
	// Clean deletes the UDP flows of frontends that lead to none of their
	// serving endpoints.
	Clean(ctx context.Context, changed []conntrack.Frontend, nodeAddrs []netip.Addr) (conntrack.Result, error)
}

// staleFlows are the UDP frontends of a family whose flows have to be looked at
// after the next commit.
type staleFlows struct {
	// pending holds the endpoints that flows may stay with, by what is dialled.
	pending map[netip.AddrPort][]netip.AddrPort
	// dialled is what each service has of UDP, to know what it had when it is
	// gone. Services without UDP are not in it.
	dialled map[informer.Name][]netip.AddrPort
	retry   backoff
}

func newStaleFlows() *staleFlows {
	return &staleFlows{pending: map[netip.AddrPort][]netip.AddrPort{}, dialled: map[informer.Name][]netip.AddrPort{}}
}

// note remembers what a changed service has and had of UDP; a nil service is
// gone. Any change counts: an address that is new may have flows from before it
// was served.
func (s *staleFlows) note(name informer.Name, service *informer.Service, f nft.Family) {
	if s == nil {
		return
	}
	for _, addr := range s.dialled[name] {
		s.pending[addr] = nil
	}
	delete(s.dialled, name)
	if service == nil {
		return
	}
	var dialled []netip.AddrPort
	for i := range service.Ports {
		port := &service.Ports[i]
		if port.Port.Protocol != "UDP" || nft.FamilyOf(port.ClusterIP.Addr()) != f {
			continue
		}
		serving := servingEndpoints(port.Endpoints)
		for _, addr := range dialledAddrs(port) {
			s.pending[addr] = serving
			dialled = append(dialled, addr)
		}
	}
	if len(dialled) > 0 {
		s.dialled[name] = dialled
	}
}

// dialledAddrs are all addresses under which clients dial a port; a node port
// has the unspecified one.
func dialledAddrs(port *informer.ServicePort) []netip.AddrPort {
	addrs := []netip.AddrPort{port.ClusterIP}
	if port.NodePort != 0 {
		addrs = append(addrs, netip.AddrPortFrom(unspecified(port.ClusterIP.Addr()), port.NodePort))
	}
	for _, list := range [][]netip.Addr{port.LoadBalancerIPs, port.ExternalIPs} {
		for _, ip := range list {
			addrs = append(addrs, netip.AddrPortFrom(ip, port.ClusterIP.Port()))
		}
	}
	return addrs
}

// servingEndpoints are those that flows may stay with (U3): whatever readiness,
// policy and topology say, an endpoint that still answers keeps what it has.
func servingEndpoints(endpoints []selector.Endpoint) (addrs []netip.AddrPort) {
	for i := range endpoints {
		if e := &endpoints[i]; e.Serving || e.Usable() {
			addrs = append(addrs, e.Addr)
		}
	}
	return addrs
}

// cleanFlows deletes the flows that a committed change left behind. A failure is
// not one of the round: the rules are in force, and it is tried again.
func (a *Agent) cleanFlows(ctx context.Context, f *family, fr *FamilyRound) {
	s := f.flows
	if s == nil || fr.Err != nil || fr.Deferred || len(s.pending) == 0 || s.retry.waiting(a.now()) {
		return
	}
	changed := make([]conntrack.Frontend, 0, len(s.pending))
	for addr, serving := range s.pending {
		changed = append(changed, conntrack.Frontend{Addr: addr, Serving: serving})
	}
	began := a.now()
	result, err := a.flows.Clean(context.WithoutCancel(ctx), changed, a.served)
	a.metrics.proxy.flowsTook.WithLabelValues(familyLabel(f.id)).Observe(a.now().Sub(began).Seconds())
	a.metrics.proxy.flowsDeleted.WithLabelValues(familyLabel(f.id)).Add(float64(result.Deleted))
	a.metrics.flows.WithLabelValues(familyLabel(f.id)).Add(float64(result.Deleted))
	if err != nil {
		s.retry.fail(a.now())
		a.log.Warn("cannot delete all stale UDP flows; it is tried again", "family", f.id.String(), "error", err)
		return
	}
	s.retry.succeed()
	s.pending = map[netip.AddrPort][]netip.AddrPort{}
	if result.Deleted > 0 {
		a.log.Debug("deleted stale UDP flows", "family", f.id.String(), "deleted", result.Deleted, "looked", result.Looked)
	}
}
