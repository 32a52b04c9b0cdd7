package demo

import (
	"fmt"
	"strings"
)

// introduce describes the cluster and the columns of the tables.
func (d *demo) introduce() {
	sc := d.stage.sc
	d.console.printf("A cluster of %d zones and %d nodes, with %d pods and an agent on each node, out of network namespaces:\n\n%s\n",
		len(sc.zones), len(sc.nodes()), len(sc.pods), sc.overview())
	d.console.printf("%s\n\n%s\n", d.delayText(), sc.servicesText())
	d.console.printf("%s", legend)
}

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
		return fmt.Sprintf("A packet takes %s longer to the other zone, each way.", milliseconds(d.opts.ZoneDelay))
	case err != nil:
		return fmt.Sprintf("Packets to the other zone are not delayed, so the time to connect does not show it: %v.", err)
	}
	return "Packets to the other zone are not delayed."
}

func (sc *scenario) servicesText() string {
	nodes := len(sc.nodes()) + len(sc.idle)
	var b strings.Builder
	for _, s := range sc.services {
		n := len(sc.endpoints(s.name))
		plenty := "few: not more than half of the nodes"
		if 2*n > nodes {
			plenty = "plenty: more than half of the nodes"
		}
		fmt.Fprintf(&b, "%s/%s has %d endpoints, for LocalIfPlenty %s.\n", namespace, s.name, n, plenty)
	}
	fmt.Fprintf(&b, "%s is a Node object only, like a control plane that runs no pods, and counts as one of %d nodes.\n",
		strings.Join(sc.idle, " and "), nodes)
	return b.String()
}
