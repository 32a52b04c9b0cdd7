package demo

import (
	"fmt"
	"strings"
)

// introduce describes the cluster and the columns of the tables.
func (d *demo) introduce() {
	sc := d.stage.sc
	d.console.printf("%d zones, %d nodes with an agent each, and %d pods, all of them network namespaces of this machine:\n\n%s\n",
		len(sc.zones), len(sc.nodes()), len(sc.pods), sc.overview())
	d.console.printf("%s\n%s\n", d.delayText(), sc.servicesText())
	d.console.printf("%s", legend)
}

// overview lists zones, nodes and pods.
func (sc *scenario) overview() string {
	t := &table{align: "lll"}
	for _, z := range sc.zones {
		name := z.Name
		for _, n := range z.Nodes {
			t.row(name, n.Name, strings.Join(n.Pods, ", "))
			name = ""
		}
	}
	return t.String()
}

func (d *demo) delayText() string {
	delayed, err := d.stage.cluster.Delayed()
	switch {
	case delayed:
		return fmt.Sprintf("A packet between the zones takes %s longer, each way.", milliseconds(d.opts.ZoneDelay))
	case err != nil:
		return fmt.Sprintf("Packets between the zones are not delayed, so the time to connect does not show zones: %v.", err)
	}
	return "Packets between the zones are not delayed."
}

// servicesText says what a reader has to know to understand the differences
// between the policies.
func (sc *scenario) servicesText() string {
	nodes := len(sc.nodes()) + len(sc.idle)
	var b strings.Builder
	for _, s := range sc.services {
		n := len(sc.endpoints(s.name))
		amount := "few, because not more than half of the %d nodes"
		if 2*n > nodes {
			amount = "plenty, because more than half of the %d nodes"
		}
		fmt.Fprintf(&b, "%s/%s has %d endpoints: for LocalIfPlenty "+amount+".\n", namespace, s.name, n, nodes)
	}
	fmt.Fprintf(&b, "%s is a Node object only. Like a control plane it runs no pods, but it counts as a node.\n", strings.Join(sc.idle, " and "))
	fmt.Fprintf(&b, "%s is no endpoint at first. It takes the place of %s in the last scene.\n", replacement, leaving)
	return b.String()
}
