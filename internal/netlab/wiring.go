package netlab

import (
	"context"
	"fmt"
	"net/netip"
	"time"
)

// connectNodes puts a bridge into each zone, plugs the zone's nodes into it,
// and tells the router where pods are.
func (c *Cluster) connectNodes(ctx context.Context) error {
	for _, z := range c.zones {
		if err := z.host.IP(ctx, z.bridge()); err != nil {
			return err
		}
		for _, n := range z.nodes {
			if err := n.Host.IP(ctx, z.uplink(n)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (z *clusterZone) bridge() *Batch {
	b := new(Batch)
	b.Add("link add lan type bridge")
	b.Add("addr add %s/24 dev lan", routerAddr(z.number))
	b.Add("link set lan up")
	for _, n := range z.nodes {
		// Both ends are made where they belong; neither is ever anywhere else.
		b.Add("link add %s type veth peer name eth0 netns %s", n.Host.Name, n.Host.Namespace)
		b.Add("link set %s master lan up", n.Host.Name)
	}
	for _, n := range z.nodes {
		b.Add("route add %s via %s", n.PodPrefix, n.Addr)
	}
	return b
}

// uplink connects a node to its zone: neighbours directly, the rest by the
// router.
func (z *clusterZone) uplink(n *ClusterNode) *Batch {
	b := new(Batch)
	b.Add("addr add %s/24 dev eth0", n.Addr)
	b.Add("link set eth0 up")
	b.Add("route add default via %s", routerAddr(z.number))
	for _, other := range z.nodes {
		if other != n {
			b.Add("route add %s via %s", other.PodPrefix, other.Addr)
		}
	}
	return b
}

// connectPods puts each pod behind its node by a link of its own. Pods of one
// node are not on one bridge: their packets to each other have to pass the
// node's routing, where services are.
func (c *Cluster) connectPods(ctx context.Context) error {
	for _, z := range c.zones {
		for _, n := range z.nodes {
			if err := n.Host.IP(ctx, n.podLinks()); err != nil {
				return err
			}
			for _, p := range n.pods {
				if err := p.Host.IP(ctx, n.podSide(p)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (n *ClusterNode) podLinks() *Batch {
	b := new(Batch)
	for _, p := range n.pods {
		b.Add("link add %s type veth peer name eth0 netns %s", p.Host.Name, p.Host.Namespace)
		b.Add("addr add %s/32 dev %s", podGateway(n.number), p.Host.Name)
		b.Add("link set %s up", p.Host.Name)
		b.Add("route add %s/32 dev %s", p.Addr, p.Host.Name)
	}
	return b
}

func (n *ClusterNode) podSide(p *ClusterPod) *Batch {
	b := new(Batch)
	b.Add("addr add %s/32 dev eth0", p.Addr)
	b.Add("link set eth0 up")
	b.Add("route add %s dev eth0 scope link", podGateway(n.number))
	b.Add("route add default via %s", podGateway(n.number))
	return b
}

// connectZones links the router of each zone to that of each other one.
func (c *Cluster) connectZones(ctx context.Context, delay time.Duration) error {
	number := 0
	for i, a := range c.zones {
		for _, b := range c.zones[i+1:] {
			number++
			if err := c.connectZonePair(ctx, a, b, number, delay); err != nil {
				return fmt.Errorf("connect %s and %s: %w", a.host.Name, b.host.Name, err)
			}
		}
	}
	return nil
}

func (c *Cluster) connectZonePair(ctx context.Context, a, b *clusterZone, number int, delay time.Duration) error {
	toB, toA := "to-"+b.host.Name, "to-"+a.host.Name
	if err := c.makeZoneLink(ctx, a.host, toB, b.host, toA, delay); err != nil {
		return err
	}
	addrA, addrB := linkAddrs(number)
	if err := a.host.IP(ctx, linkSide(toB, addrA, addrB, b)); err != nil {
		return err
	}
	return b.host.IP(ctx, linkSide(toA, addrB, addrA, a))
}

// makeZoneLink makes a link that delays if it can, and remembers whether it does.
func (c *Cluster) makeZoneLink(ctx context.Context, a *Host, nameA string, b *Host, nameB string, delay time.Duration) error {
	if delay > 0 && c.noDelay == nil {
		link, err := newDelayedLink(a, nameA, b, nameB, delay)
		if err == nil {
			c.links, c.delayed = append(c.links, link), true
			return nil
		}
		c.noDelay = err
	}
	batch := new(Batch)
	batch.Add("link add %s type veth peer name %s netns %s", nameA, nameB, b.Namespace)
	return a.IP(ctx, batch)
}

func linkSide(name string, own, other netip.Addr, zone *clusterZone) *Batch {
	b := new(Batch)
	b.Add("addr add %s/30 dev %s", own, name)
	b.Add("link set %s up", name)
	b.Add("route add 172.30.%d.0/24 via %s", zone.number, other)
	for _, n := range zone.nodes {
		b.Add("route add %s via %s", n.PodPrefix, other)
	}
	return b
}
