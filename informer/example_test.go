package informer_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nearside/nearside/informer"
)

const manifests = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {clusterIP: 10.96.0.10, ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints:
- {addresses: [10.1.1.5], nodeName: node-a}
- {addresses: [10.1.2.5], nodeName: node-b}
- {addresses: [not-an-ip]}
---
apiVersion: v1
kind: Node
metadata: {name: node-a, labels: {topology.kubernetes.io/zone: zone-1}}
`

// Services and endpoints of a manifest, and what cannot be used of it.
func ExampleManifests() {
	store := informer.NewStore(informer.StoreOptions{
		NodeName:  "node-a",
		OnProblem: func(p informer.Problem) { fmt.Println("problem:", p) },
	})
	source := informer.Manifests{Paths: []string{"-"}, Stdin: strings.NewReader(manifests)}
	if err := source.Load(context.Background(), store); err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range store.Services() {
		service, _ := store.Service(name)
		for _, port := range service.Ports {
			fmt.Println(name, port.ClusterIP)
			for _, e := range port.Endpoints {
				fmt.Println(" ", e.Addr, e.Node)
			}
		}
	}
	fmt.Println("zone:", store.Node().Zone)
	// Output:
	// problem: EndpointSlice default/web-1 endpoints.addresses "not-an-ip": is not an IP address; the endpoint is left out
	// default/web 10.96.0.10:80
	//   10.1.1.5:8080 node-a
	//   10.1.2.5:8080 node-b
	// zone: zone-1
}

// A mistake in a manifest is reported with its place.
func ExampleManifestError() {
	store := informer.NewStore(informer.StoreOptions{})
	broken := strings.Replace(manifests, "port: 8080", "port: http", 1)
	source := informer.Manifests{Paths: []string{"-"}, Stdin: strings.NewReader(broken)}
	fmt.Println(source.Load(context.Background(), store))
	// Output:
	// -:11: "ports.port": want a whole number that fits in int32, found the text "http"
}

// The loop of a proxy: it learns which Services changed, and looks at those only.
func ExampleStore() {
	ctx := context.Background()
	store := informer.NewStore(informer.StoreOptions{NodeName: "node-a", Log: slog.New(slog.DiscardHandler)})
	service := func(name, ip string) *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec:       corev1.ServiceSpec{ClusterIP: ip, Ports: []corev1.ServicePort{{Port: 80}}},
		}
	}
	round := func() {
		if store.Wait(ctx) != nil {
			return
		}
		for _, name := range store.Take().Services {
			if service, ok := store.Service(name); ok {
				fmt.Println(name, "is at", service.Ports[0].ClusterIP)
			} else {
				fmt.Println(name, "is gone")
			}
		}
	}
	_ = store.Replace(service("web", "10.96.0.10"), service("api", "10.96.0.11"))
	round()
	_ = store.Set(service("web", "10.96.0.12"), service("api", "10.96.0.11"))
	round()
	_ = store.Delete(service("api", ""))
	round()
	// Output:
	// default/api is at 10.96.0.11:80
	// default/web is at 10.96.0.10:80
	// default/web is at 10.96.0.12:80
	// default/api is gone
}
