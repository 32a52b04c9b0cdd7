package netlab

import (
	"fmt"
	"net/netip"
	"time"
)

// Plan describes a cluster of hosts.
type Plan struct {
	// Zones are the cluster's zones, 1 to 23.
	Zones []Zone
	// ZoneDelay is the time a packet takes from one zone to another, each way.
	// Zero means no delay.
	ZoneDelay time.Duration
}

// Zone is a network of nodes around one router.
type Zone struct {
	Name  string
	Nodes []Node
}

// Node is a machine that forwards for its pods. Names serve as names of network
// interfaces too, so they have at most 15 letters.
type Node struct {
	Name string
	Pods []string
}

// PodNetwork is the network that all pods of a cluster are in.
var PodNetwork = netip.MustParsePrefix("10.244.0.0/16")

// The rest of the addresses, with z, n and p counted from 1:
//
//	10.244.n.0/24   pods of node n of the whole cluster: 10.244.n.1 is the node, 10.244.n.(10+p) pod p
//	172.30.z.0/24   nodes of zone z: 172.30.z.1 is the router, 172.30.z.(10+n) node n of the zone
//	172.31.l.0/30   link l between two zones' routers
const (
	maxZones = 23 // each has a link to each other one, and there are 255 networks for those
	maxNodes = 200
	maxPods  = 200
)

func podPrefix(node int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, byte(node), 0}), 24)
}

func podGateway(node int) netip.Addr { return netip.AddrFrom4([4]byte{10, 244, byte(node), 1}) }

func podAddr(node, pod int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 244, byte(node), byte(10 + pod)})
}

func routerAddr(zone int) netip.Addr { return netip.AddrFrom4([4]byte{172, 30, byte(zone), 1}) }

func nodeAddr(zone, node int) netip.Addr {
	return netip.AddrFrom4([4]byte{172, 30, byte(zone), byte(10 + node)})
}

func linkAddrs(link int) (a, b netip.Addr) {
	return netip.AddrFrom4([4]byte{172, 31, byte(link), 1}), netip.AddrFrom4([4]byte{172, 31, byte(link), 2})
}

// validate refuses what the scheme of addresses and names has no room for.
func (p Plan) validate() error {
	if len(p.Zones) == 0 || len(p.Zones) > maxZones {
		return fmt.Errorf("plan %d zones: expected 1 to %d", len(p.Zones), maxZones)
	}
	seen := make(map[string]bool)
	nodes := 0
	for _, z := range p.Zones {
		names := []string{z.Name}
		nodes += len(z.Nodes)
		for _, n := range z.Nodes {
			names = append(append(names, n.Name), n.Pods...)
			if len(n.Pods) > maxPods {
				return fmt.Errorf("plan node %q with %d pods: expected at most %d", n.Name, len(n.Pods), maxPods)
			}
		}
		for _, name := range names {
			if !labName.MatchString(name) || len(name) > 15 {
				return fmt.Errorf("plan host %q: expected at most 15 lower-case letters, digits and dashes", name)
			}
			if seen[name] {
				return fmt.Errorf("plan host %q: the name is used twice", name)
			}
			seen[name] = true
		}
	}
	if nodes > maxNodes {
		return fmt.Errorf("plan %d nodes: expected at most %d", nodes, maxNodes)
	}
	return nil
}
