package demo

// policy is a way to choose endpoints that the demo shows.
type policy struct {
	name string
	// annotation is the value of nearside.dev/policy; empty means none.
	annotation string
	// local sets internalTrafficPolicy: Local.
	local bool
	// says what the policy does, in a line.
	says string
}

var (
	policyCluster = policy{
		name: "Cluster", annotation: "Cluster",
		says: "every ready endpoint of the cluster",
	}
	policyPreferLocal = policy{
		name: "PreferLocal", annotation: "PreferLocal",
		says: "ready endpoints on the client's node; where there is none, as Cluster",
	}
	policyLocalIfPlenty = policy{
		name: "LocalIfPlenty", annotation: "LocalIfPlenty",
		says: "as PreferLocal for a service with more ready endpoints than half of the nodes; otherwise as Cluster",
	}
	policyLocal = policy{
		name: "Local", local: true,
		says: "internalTrafficPolicy: Local, a rule: endpoints on the client's node or nothing",
	}
)

func policies() []policy {
	return []policy{policyCluster, policyPreferLocal, policyLocalIfPlenty, policyLocal}
}

// allowed returns the pods that connections from a node may reach, in the order
// of the scenario. It is the demo's own idea of the policies, in few words and
// for pods that are ready, gone or going; the demo compares the kernel's table
// and all traffic with it.
func (sc *scenario) allowed(p policy, service, node string, now conditions) []string {
	var all, local []string
	for _, pod := range sc.pods {
		if pod.service != service || now[pod.name] != ready {
			continue
		}
		all = append(all, pod.name)
		if pod.node == node {
			local = append(local, pod.name)
		}
	}
	nodes := len(sc.nodes()) + len(sc.idle)
	switch p.name {
	case policyLocal.name:
		return local
	case policyPreferLocal.name:
		if len(local) > 0 {
			return local
		}
	case policyLocalIfPlenty.name:
		if len(local) > 0 && 2*len(all) > nodes {
			return local
		}
	}
	return all
}
