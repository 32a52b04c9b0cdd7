package agent

import (
	"github.com/nearside/nearside/nft"
	"github.com/nearside/nearside/selector"
)

// The first index of noLocal.
const (
	internalTraffic = iota
	externalTraffic
)

var trafficLabels = [...]string{internalTraffic: "internal", externalTraffic: "external"}

// noLocal counts service ports that are silent to somebody, because policy asks
// for endpoints on this node and all are elsewhere (D2), by traffic and family.
type noLocal [len(trafficLabels)][2]int32

// noLocal counts the ports of one service.
func (s *selection) noLocal() (n noLocal) {
	for i := range s.ports {
		f := nft.FamilyOf(s.service.Ports[i].ClusterIP.Addr())
		if silent(&s.ports[i]) {
			n[internalTraffic][f]++
		}
		if x := s.external[i]; x != nil && x.outside != nil && silent(x.outside) {
			n[externalTraffic][f]++
		}
	}
	return n
}

func silent(sel *selector.Selection) bool {
	return len(sel.Backends) == 0 && sel.Empty == selector.Drop
}

// replace takes out what was counted of a service and puts in what is now.
func (n *noLocal) replace(before, now noLocal) {
	for traffic := range n {
		for f := range n[traffic] {
			n[traffic][f] += now[traffic][f] - before[traffic][f]
		}
	}
}
