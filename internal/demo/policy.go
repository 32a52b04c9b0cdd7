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
// of the scenario. It is the demo's own idea of the policies, in few words; the
// demo compares the kernel's table and all traffic with it.
func (sc *scenario) allowed(p policy, service, node string, now conditions) []string {
	anywhere, onNode := func(pod) bool { return true }, func(p pod) bool { return p.node == node }
	allReady, localReady := sc.those(service, ready, now, anywhere), sc.those(service, ready, now, onNode)
	all := orElse(allReady, sc.those(service, terminating, now, anywhere))
	nodes := len(sc.nodes()) + len(sc.idle)
	switch p.name {
	case policyLocal.name:
		return orElse(localReady, sc.those(service, terminating, now, onNode))
	case policyPreferLocal.name:
		return orElse(localReady, all)
	case policyLocalIfPlenty.name:
		if 2*len(allReady) > nodes {
			return orElse(localReady, all)
		}
	}
	return all
}

// those returns the pods of a service that are in a state, where they may be.
func (sc *scenario) those(service string, c condition, now conditions, where func(pod) bool) (names []string) {
	for _, p := range sc.pods {
		if p.service == service && now[p.name] == c && where(p) {
			names = append(names, p.name)
		}
	}
	return names
}

func orElse(first, second []string) []string {
	if len(first) > 0 {
		return first
	}
	return second
}
