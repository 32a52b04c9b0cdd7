package main

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/internal/netns"
)

// externalObjects are a Service that clients outside dial, with an endpoint on
// this node, and a UDP one.
const externalObjects = `
apiVersion: v1
kind: Service
metadata: {name: outer, namespace: shop}
spec:
  type: LoadBalancer
  clusterIP: 10.96.7.1
  clusterIPs: [10.96.7.1]
  ipFamilies: [IPv4]
  externalTrafficPolicy: Local
  healthCheckNodePort: 32080
  ports: [{name: http, port: 80, nodePort: 30080}]
status: {loadBalancer: {ingress: [{ip: 198.51.100.10}]}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: outer-1, namespace: shop, labels: {kubernetes.io/service-name: outer}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [10.7.7.1], nodeName: NODE}]
---
apiVersion: v1
kind: Service
metadata: {name: datagrams, namespace: shop}
spec:
  clusterIP: 10.96.7.2
  clusterIPs: [10.96.7.2]
  ipFamilies: [IPv4]
  ports: [{name: dns, port: 53, protocol: UDP}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: datagrams-1, namespace: shop, labels: {kubernetes.io/service-name: datagrams}}
addressType: IPv4
ports: [{name: dns, port: 5353, protocol: UDP}]
endpoints: [{addresses: [10.7.7.1]}]
`

// answering serves TCP on an address of the namespace until the test ends.
func answering(t *testing.T, ns *netns.Namespace, address string) {
	t.Helper()
	var l net.Listener
	ns.Must(t, func() (err error) {
		l, err = net.Listen("tcp", address)
		return err
	})
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
}

func TestRunServesClientsOutside(t *testing.T) {
	ns := netns.New(t)
	for _, address := range []string{"10.7.7.1/32", "10.7.7.2/32", "192.0.2.11/32"} {
		ns.Run(t, "ip", "address", "add", address, "dev", "lo")
	}
	// Services have no route of their own: the kernel chooses one before it
	// translates.
	ns.Run(t, "ip", "route", "add", "local", "10.7.7.3", "dev", "lo")
	ns.Run(t, "ip", "route", "add", "default", "dev", "lo")
	answering(t, ns, "10.7.7.1:8080")

	a := startAgent(t, ns, "--nodeport-addresses", "192.0.2.0/24")
	file := filepath.Join(a.folder, "outer.yaml")
	write := func(node string, more ...string) {
		require.NoError(t, os.WriteFile(file, []byte(strings.NewReplacer(append(more, "NODE", node)...).Replace(externalObjects)), 0o600))
	}
	dials := func(address string) bool {
		return ns.Do(func() error {
			c, err := (&net.Dialer{Timeout: 500 * time.Millisecond}).Dial("tcp", address)
			if err == nil {
				_ = c.Close()
			}
			return err
		}) == nil
	}
	eventually := func(what string, f func() bool) {
		t.Helper()
		require.Eventually(t, f, patienceOfTests, 20*time.Millisecond, what)
	}
	write("node-a")
	for _, address := range []string{"10.96.7.1:80", "192.0.2.11:30080", "198.51.100.10:80"} {
		eventually(address+" leads to the endpoint", func() bool { return dials(address) })
	}

	// An address that comes later serves node ports too.
	require.NotContains(t, present(ns), "192.0.2.12")
	ns.Run(t, "ip", "address", "add", "192.0.2.12/32", "dev", "lo")
	eventually("the new address serves node ports", func() bool { return dials("192.0.2.12:30080") })

	// Load balancers are told whether there is an endpoint on this node.
	health := func() (status int) {
		status, _ = httpGet(t, ns, "192.0.2.11:32080", "/")
		return status
	}
	require.Equal(t, http.StatusOK, health())
	write("node-b")
	eventually("the health check fails without a local endpoint", func() bool { return health() == http.StatusServiceUnavailable })

	// A client of a UDP service with a constant source port moves on.
	flows := func() string { return ns.Run(t, "conntrack", "-L", "-p", "udp") }
	ns.Must(t, func() error {
		c, err := net.Dial("udp", "10.96.7.2:53")
		if err == nil {
			_, err = c.Write([]byte("?"))
			_ = c.Close()
		}
		return err
	})
	require.Contains(t, flows(), "src=10.7.7.1")
	write("node-b", "5353", "5454")
	eventually("the stale flow is deleted", func() bool { return !strings.Contains(flows(), "dst=10.96.7.2") })
	require.Zero(t, a.stop())
}
