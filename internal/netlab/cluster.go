package netlab

import (
	"context"
	"fmt"
	"net/netip"
)

// Cluster is what BuildCluster made: every host of a Plan, connected. Each pod
// reaches each pod by its address, through its node and the routers of the
// zones, as in a routed cluster network.
type Cluster struct {
	nodes   map[string]*ClusterNode
	pods    map[string]*ClusterPod
	zones   []*clusterZone
	links   []*delayedLink
	delayed bool
	noDelay error
}

// ClusterNode is a node of a Cluster.
type ClusterNode struct {
	Host *Host
	Zone string
	// Addr is the node's address in its zone, and PodPrefix that of its pods.
	Addr      netip.Addr
	PodPrefix netip.Prefix

	number int // in the whole cluster, from 1
	pods   []*ClusterPod
}

// ClusterPod is a pod of a Cluster.
type ClusterPod struct {
	Host *Host
	// Node names the node it runs on.
	Node string
	Addr netip.Addr
}

type clusterZone struct {
	host   *Host
	number int // from 1
	nodes  []*ClusterNode
}

// Node returns the node of that name, nil if the plan has none.
func (c *Cluster) Node(name string) *ClusterNode { return c.nodes[name] }

// Pod returns the pod of that name, nil if the plan has none.
func (c *Cluster) Pod(name string) *ClusterPod { return c.pods[name] }

// Delayed reports whether packets between zones are delayed as planned. If not,
// the error says why; it is nil when the plan wanted no delay.
func (c *Cluster) Delayed() (bool, error) { return c.delayed, c.noDelay }

// Close ends the delay between zones, and with it all traffic between them. The
// hosts stay until their lab is closed.
func (c *Cluster) Close() error {
	for _, l := range c.links {
		l.close()
	}
	c.links = nil
	return nil
}

// BuildCluster makes the hosts of the plan in the lab and connects them. Call
// Close of the cluster, also after an error of the lab, before that of the lab.
// After an error the lab holds what was made so far.
func BuildCluster(ctx context.Context, lab *Lab, plan Plan) (*Cluster, error) {
	if err := plan.validate(); err != nil {
		return nil, err
	}
	c := &Cluster{nodes: make(map[string]*ClusterNode), pods: make(map[string]*ClusterPod)}
	steps := []func() error{
		func() error { return c.addHosts(ctx, lab, plan) },
		func() error { return c.connectZones(ctx, plan.ZoneDelay) },
		func() error { return c.connectNodes(ctx) },
		func() error { return c.connectPods(ctx) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			_ = c.Close()
			return nil, fmt.Errorf("build cluster: %w", err)
		}
	}
	return c, nil
}

func (c *Cluster) addHosts(ctx context.Context, lab *Lab, plan Plan) error {
	for i, z := range plan.Zones {
		host, err := addRouter(ctx, lab, z.Name)
		if err != nil {
			return err
		}
		zone := &clusterZone{host: host, number: i + 1}
		c.zones = append(c.zones, zone)
		for j, n := range z.Nodes {
			if err := c.addNode(ctx, lab, zone, j+1, n); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Cluster) addNode(ctx context.Context, lab *Lab, zone *clusterZone, place int, plan Node) error {
	host, err := addRouter(ctx, lab, plan.Name)
	if err != nil {
		return err
	}
	number := len(c.nodes) + 1
	node := &ClusterNode{
		Host: host, Zone: zone.host.Name, number: number,
		Addr: nodeAddr(zone.number, place), PodPrefix: podPrefix(number),
	}
	for i, name := range plan.Pods {
		host, err := lab.AddHost(ctx, name)
		if err != nil {
			return err
		}
		pod := &ClusterPod{Host: host, Node: plan.Name, Addr: podAddr(number, i+1)}
		c.pods[name] = pod
		node.pods = append(node.pods, pod)
	}
	c.nodes[plan.Name] = node
	zone.nodes = append(zone.nodes, node)
	return nil
}

// addRouter makes a host that forwards between its interfaces.
func addRouter(ctx context.Context, lab *Lab, name string) (*Host, error) {
	host, err := lab.AddHost(ctx, name)
	if err != nil {
		return nil, err
	}
	return host, host.Sysctl("net.ipv4.ip_forward", "1")
}
