package cluster_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/nearside/nearside/nft"
	"github.com/nearside/nearside/test/cluster/commits"
	"github.com/nearside/nearside/test/cluster/objects"
)

const serviceCount = 1000

// TestRun runs the real agent against a real API server with a thousand
// services. The steps build on each other.
func TestRun(t *testing.T) {
	s := newScene(t)
	s.populate(t, serviceCount)
	web := s.createWeb(t)

	agent := startAgent(t, s.plane.API.Kubeconfig())
	steps := []struct {
		name string
		run  func(t *testing.T)
	}{
		{"programs a thousand services", func(t *testing.T) { s.programs(t, agent) }},
		{"real connections reach every pod", func(t *testing.T) { requireReachable(t, web) }},
		{"follows changes", s.followsChanges},
		{"follows one endpoint quickly", s.followsQuickly},
		{"coalesces a burst", s.coalesces},
		{"survives an API server that is away", func(t *testing.T) { s.survivesOutage(t, agent, web) }},
		{"survives an API server that is restarted properly", func(t *testing.T) { s.survivesRestart(t, agent) }},
		{"leaves the table to the next agent, which waits for the API server", func(t *testing.T) { s.restartsAgent(t, agent) }},
	}
	for _, step := range steps {
		if !t.Run(step.name, step.run) {
			return // the next steps would only repeat the failure
		}
	}
}

// createWeb creates a service whose endpoints answer, and returns its address.
func (s *scene) createWeb(t *testing.T) string {
	t.Helper()
	const port = 80
	servePods(t, port+8000)
	service := objects.Service(namespace, "web", objects.Port(corev1.ProtocolTCP, port))
	var endpoints []discoveryv1.Endpoint
	for _, address := range podAddresses {
		endpoints = append(endpoints, objects.Endpoint(address, "node-a"))
	}
	bundle := objects.Bundle{Service: service, Slices: []*discoveryv1.EndpointSlice{
		objects.Slice(service, discoveryv1.AddressTypeIPv4, 8000, endpoints...),
	}}
	require.NoError(t, bundle.Create(s.ctx, s.client))
	return net.JoinHostPort(s.clusterIP(t, "web"), fmt.Sprint(port))
}

func (s *scene) clusterIP(t *testing.T, name string) string {
	t.Helper()
	service, err := s.client.CoreV1().Services(namespace).Get(s.ctx, name, metav1.GetOptions{})
	require.NoError(t, err)
	return service.Spec.ClusterIP
}

// programs waits for the first complete table.
func (s *scene) programs(t *testing.T, agent *agent) {
	state := s.follow(t, time.Minute)
	require.Greater(t, len(state), serviceCount, "a frontend per service and more")
	all, err := s.record.Since(0)
	require.NoError(t, err)
	last := all[len(all)-1]
	require.Equal(t, agent.Name, last.Process, "nobody but the agent may write")
	elements := 0
	for _, table := range s.readBack(t) {
		elements += table.Elements()
	}
	t.Logf("start of the process to all of %d frontends (%d elements) in the kernel: %s, %d commits",
		len(state), elements, last.At.Sub(agent.Started).Round(time.Millisecond), len(all))
	agent.requireHealthy(t)
}

func requireReachable(t *testing.T, service string) {
	t.Helper()
	pods := map[string]int{}
	for range 100 {
		pod, err := dial(t.Context(), service)
		require.NoError(t, err)
		pods[pod]++
	}
	require.Len(t, pods, len(podAddresses), "every pod must have had connections: %v", pods)
}

// followsChanges makes every kind of change once.
func (s *scene) followsChanges(t *testing.T) {
	services, nodes := s.client.CoreV1().Services(namespace), s.client.CoreV1().Nodes()
	added := objects.Mix(namespace, serviceCount)
	changes := []struct {
		name string
		make func() error
	}{
		{"an endpoint gets another address", func() error { return s.moveEndpoint("mix-4", "10.200.0.1") }},
		{"an endpoint is not ready any more", func() error {
			return s.updateSlice("mix-4-v4", func(slice *discoveryv1.EndpointSlice) {
				slice.Endpoints[0].Conditions.Ready = new(false)
			})
		}},
		{"an IPv6 endpoint goes", func() error {
			return s.updateSlice("mix-21-v6", func(slice *discoveryv1.EndpointSlice) {
				slice.Endpoints = slice.Endpoints[1:]
			})
		}},
		{"a service and its endpoints appear", func() error { return added.Create(s.ctx, s.client) }},
		{"they go again", func() error { return added.Delete(s.ctx, s.client) }},
		{"a service without endpoints gets some", func() error {
			return s.updateSlice("mix-7-v4", func(slice *discoveryv1.EndpointSlice) {
				slice.Endpoints = append(slice.Endpoints, objects.Endpoint("10.200.0.7", "node-b"))
			})
		}},
		{"a service gets another port", func() error {
			return s.updateService("mix-4", func(service *corev1.Service) { service.Spec.Ports[0].Port = 8080 })
		}},
		{"a service is handed to another proxy", func() error {
			return s.updateService("mix-6", func(service *corev1.Service) {
				service.Labels = map[string]string{objects.ServiceProxyName: ""}
			})
		}},
		{"and handed back", func() error {
			return s.updateService("mix-6", func(service *corev1.Service) { service.Labels = nil })
		}},
		{"a service becomes local", func() error {
			return s.updateService("mix-8", func(service *corev1.Service) {
				service.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyLocal)
			})
		}},
		{"a service goes, its slices stay", func() error {
			return services.Delete(s.ctx, "mix-9", metav1.DeleteOptions{})
		}},
		{"the node moves to another zone", func() error {
			node, err := nodes.Get(s.ctx, "node-a", metav1.GetOptions{})
			if err != nil {
				return err
			}
			node.Labels[corev1.LabelTopologyZone] = "zone-2"
			_, err = nodes.Update(s.ctx, node, metav1.UpdateOptions{})
			return err
		}},
	}
	for _, change := range changes {
		t.Run(change.name, func(t *testing.T) { s.change(t, followDeadline, change.make) })
	}
}

// updateSlice changes an EndpointSlice by read and write.
func (s *scene) updateSlice(name string, change func(*discoveryv1.EndpointSlice)) error {
	return updateSlice(s.ctx, s.client, name, change)
}

func updateSlice(ctx context.Context, client kubernetes.Interface, name string, change func(*discoveryv1.EndpointSlice)) error {
	all := client.DiscoveryV1().EndpointSlices(namespace)
	slice, err := all.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	change(slice)
	_, err = all.Update(ctx, slice, metav1.UpdateOptions{})
	return err
}

// moveEndpoint gives the first endpoint of a service another IPv4 address.
func (s *scene) moveEndpoint(service, address string) error {
	return s.updateSlice(service+"-v4", func(slice *discoveryv1.EndpointSlice) {
		slice.Endpoints[0].Addresses = []string{address}
	})
}

// followsQuickly measures the time from a write to the API to the kernel's
// commit, for one endpoint of one service among a thousand.
func (s *scene) followsQuickly(t *testing.T) {
	const (
		changes = 50
		limit   = time.Second // of the median; far above what is measured
	)
	var latencies []time.Duration
	all := s.client.DiscoveryV1().EndpointSlices(namespace)
	slice, err := all.Get(s.ctx, "mix-16-v4", metav1.GetOptions{})
	require.NoError(t, err)
	for i := range changes {
		time.Sleep(minSyncPeriod + 20*time.Millisecond) // a change after a quiet time
		address := netip.AddrFrom4([4]byte{10, 201, 0, byte(i + 1)})
		slice.Endpoints[0].Addresses = []string{address.String()}
		before, written := s.record.Count(), time.Now()
		slice, err = all.Update(s.ctx, slice, metav1.UpdateOptions{})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(s.ctx, followDeadline)
		commit, err := s.record.Wait(ctx, before, func(c commits.Commit) bool {
			return c.Contains(unix.NFT_MSG_NEWSETELEM, address.AsSlice())
		})
		cancel()
		require.NoError(t, err, "change %d", i)
		latencies = append(latencies, commit.At.Sub(written))
	}
	slices.Sort(latencies)
	median := latencies[changes/2]
	t.Logf("write to the API to commit in the kernel, of %d changes: median %s, fastest %s, slowest %s",
		changes, median.Round(10*time.Microsecond), latencies[0].Round(10*time.Microsecond), latencies[changes-1].Round(10*time.Microsecond))
	require.Less(t, median, limit)
	s.follow(t, followDeadline)
}

// coalesces makes 200 changes as fast as the API server takes them.
func (s *scene) coalesces(t *testing.T) {
	const changes = 200
	var names []string
	for i := 100; len(names) < changes; i++ {
		if bundle := objects.Mix(namespace, i); len(bundle.Slices[0].Endpoints) > 0 {
			names = append(names, bundle.Service.Name)
		}
	}
	before, began := s.record.Count(), time.Now()
	require.NoError(t, objects.Each(s.ctx, changes, func(_ context.Context, i int) error {
		return s.moveEndpoint(names[i], netip.AddrFrom4([4]byte{10, 202, 0, byte(i + 1)}).String())
	}))
	written := time.Since(began)
	s.follow(t, followDeadline)
	burst, err := s.record.Since(before)
	require.NoError(t, err)
	rounds := len(burst)
	took := burst[rounds-1].At.Sub(began)
	t.Logf("%d changes written in %s reached the kernel in %d commits, the last one %s after the first write",
		changes, written.Round(time.Millisecond), rounds, took.Round(time.Millisecond))
	require.LessOrEqual(t, rounds, int(took/minSyncPeriod)+2, "at most one commit in %s", minSyncPeriod)
	require.Less(t, rounds, changes/2, "the changes must not be made one by one")
}

// survivesOutage takes the API server away for some seconds, in which the world
// changes without the agent's knowing.
func (s *scene) survivesOutage(t *testing.T, agent *agent, web string) {
	peer, err := s.plane.StartPeer(s.ctx)
	require.NoError(t, err)
	connections := startTraffic(t, web)
	tables, quiet := s.readBack(t), s.record.Count()
	require.NoError(t, s.plane.API.Kill(s.ctx))
	gone := time.Now()
	s.missedChanges(t, newClient(t, peer))
	require.NoError(t, peer.Kill(s.ctx))
	sleepUntil(s.ctx, gone.Add(5*time.Second))

	agent.requireHealthy(t)
	s.requireUntouched(t, tables, quiet)
	require.NoError(t, s.plane.API.Start(s.ctx))
	t.Logf("the API server was away for %s; the table was not touched", since(gone))

	back := time.Now()
	s.follow(t, returnDeadline)
	t.Logf("the changes missed meanwhile were in the kernel %s after the API server was ready", since(back))
	s.requireSmallCommits(t, quiet)
	s.change(t, returnDeadline, func() error { return s.moveEndpoint("mix-24", "10.203.0.1") })
	agent.requireHealthy(t)
	connections.end()
	connections.requireNoFailures(t)
	t.Logf("%d connections were made meanwhile, none failed", connections.connections.Load())
}

// missedChanges deletes, adds and changes something.
func (s *scene) missedChanges(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	require.NoError(t, client.CoreV1().Services(namespace).Delete(s.ctx, "mix-12", metav1.DeleteOptions{}))
	require.NoError(t, objects.Mix(namespace, serviceCount+2).Create(s.ctx, client))
	require.NoError(t, updateSlice(s.ctx, client, "mix-18-v4", func(slice *discoveryv1.EndpointSlice) {
		slice.Endpoints = slice.Endpoints[:1]
	}))
}

// requireUntouched checks that the tables are what they were, and that nothing
// was committed since: neither by nearside nor by anybody else.
func (s *scene) requireUntouched(t *testing.T, tables [2]*nft.Ruleset, count int) {
	t.Helper()
	since, err := s.record.Since(count)
	require.NoError(t, err)
	require.Empty(t, since, "nothing may be committed")
	for i, now := range s.readBack(t) {
		require.Nil(t, nft.Diff(tables[i], now), "the table must be what it was")
	}
}

// requireSmallCommits checks that the commits since the first count ones touch
// a few elements only: what had changed, and not the whole table.
func (s *scene) requireSmallCommits(t *testing.T, count int) {
	t.Helper()
	since, err := s.record.Since(count)
	require.NoError(t, err)
	messages := 0
	for _, commit := range since {
		messages += len(commit.Messages)
	}
	require.Less(t, messages, 50, "the difference is a handful of elements")
}

// survivesRestart restarts the API server as an upgrade does: it ends in good
// order and comes back with an empty watch cache.
func (s *scene) survivesRestart(t *testing.T, agent *agent) {
	tables, quiet := s.readBack(t), s.record.Count()
	require.NoError(t, s.plane.API.Stop(s.ctx))
	require.NoError(t, s.plane.API.Start(s.ctx))
	s.requireUntouched(t, tables, quiet)
	s.change(t, returnDeadline, func() error { return s.moveEndpoint("mix-24", "10.203.0.2") })
	s.requireSmallCommits(t, quiet)
	agent.requireHealthy(t)
}

// restartsAgent ends the agent and starts another one while the API server is
// away: it leaves the table alone until it knows the world, and then finds it
// as it should be.
func (s *scene) restartsAgent(t *testing.T, agent *agent) {
	tables, quiet := s.readBack(t), s.record.Count()
	agent.stop(t)
	require.NoError(t, s.plane.API.Kill(s.ctx))
	next := startAgent(t, s.plane.API.Kubeconfig())
	sleepUntil(s.ctx, next.Started.Add(3*time.Second))
	require.True(t, next.Running(), "the agent must wait for the API server: %v", next.Explain(nil))
	s.requireUntouched(t, tables, quiet)

	require.NoError(t, s.plane.API.Start(s.ctx))
	s.change(t, returnDeadline, func() error { return s.moveEndpoint("mix-24", "10.203.0.3") })
	s.requireSmallCommits(t, quiet)
	next.requireHealthy(t)
}

func sleepUntil(ctx context.Context, moment time.Time) {
	select {
	case <-time.After(time.Until(moment)):
	case <-ctx.Done():
	}
}
