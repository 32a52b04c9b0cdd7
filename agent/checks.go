package agent

import (
	"github.com/nearside/nearside/health"
	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/nft"
	"github.com/nearside/nearside/selector"
)

// newChecks makes the server of health check node ports, which tells load
// balancers whether this node has endpoints (H1).
func (a *Agent) newChecks() *health.Server {
	return health.New(health.Options{
		Healthy: func() bool { return a.Health().Healthy },
		OnFailure: func(name health.Name, err error) {
			a.notify(noticeOfCheck(informer.Name(name), err))
		},
		Log: a.log,
	})
}

// check serves the health check of a service, if it has one.
func (a *Agent) check(s *informer.Service) {
	if s.HealthCheckPort == 0 {
		a.checks.Delete(health.Name(s.Name))
		return
	}
	spec := health.Spec{Port: s.HealthCheckPort}
	for _, f := range a.families {
		side := &spec.IPv4
		if f.id == nft.IPv6 {
			side = &spec.IPv6
		}
		var endpoints [][]selector.Endpoint
		for i := range s.Ports {
			if nft.FamilyOf(s.Ports[i].ClusterIP.Addr()) == f.id {
				endpoints = append(endpoints, s.Ports[i].Endpoints)
			}
		}
		side.Served = len(endpoints) > 0
		side.LocalEndpoints = health.CountLocal(a.opts.NodeName, endpoints...)
	}
	a.checks.Set(health.Name(s.Name), spec)
}
