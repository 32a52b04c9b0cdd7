package agent_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nearside/nearside/agent"
	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/selector"
)

const manifest = `
apiVersion: v1
kind: Node
metadata: {name: node-a}
---
apiVersion: v1
kind: Service
metadata:
  namespace: shop
  name: web
  annotations: {nearside.dev/policy: FirstOnly}
spec:
  clusterIP: 10.96.0.10
  ports: [{port: 80}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  namespace: shop
  name: web-1
  labels: {kubernetes.io/service-name: web}
addressType: IPv4
ports: [{name: "", port: 8080}]
endpoints:
- {addresses: [10.244.1.10]}
- {addresses: [10.244.2.10]}
`

// firstOnly sends all connections to the first usable endpoint.
type firstOnly struct{}

func (firstOnly) Select(req *selector.Request) selector.Selection {
	s := selector.Cluster{}.Select(req)
	if len(s.Backends) > 1 {
		s.Backends = s.Backends[:1]
	}
	s.Reason = selector.Reason{Code: "FirstOnly", Text: "the first usable endpoint is used"}
	return s
}

// A program of one's own adds a policy to those that annotations may name, and
// asks what it does to a service. Run in place of Load and Explain would program
// the kernel.
func Example() {
	folder, err := os.MkdirTemp("", "nearside-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(folder) }()
	path := filepath.Join(folder, "web.yaml")
	if err := os.WriteFile(path, []byte(manifest), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	a, err := agent.New(agent.Options{
		NodeName: "node-a",
		Source:   &informer.Manifests{Paths: []string{path}},
		Selectors: map[string]selector.Selector{
			"Cluster":   selector.Cluster{},
			"FirstOnly": firstOnly{},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	if err := a.Load(ctx); err != nil {
		fmt.Println(err)
		return
	}
	x, err := a.Explain(ctx, agent.Target{Service: informer.Name{Namespace: "shop", Name: "web"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range x.Ports[0].Endpoints {
		fmt.Println(x.Policy, e.Addr, e.Chosen, e.Weight)
	}
	// Output:
	// FirstOnly 10.244.1.10:8080 true 1
	// FirstOnly 10.244.2.10:8080 false 0
}
