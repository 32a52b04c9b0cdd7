package informer

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	discoveryv1 "k8s.io/api/discovery/v1"
)

var benchOptions = StoreOptions{NodeName: "node-a", OnProblem: func(Problem) {}}

// clusterOf returns a Store with services of ten endpoints each, all taken.
func clusterOf(b testing.TB, services int) *Store {
	b.Helper()
	s := NewStore(benchOptions)
	changes := make([]change, 0, 2*services)
	for i := range services {
		service, slice := benchService(i)
		changes = append(changes, mustConvert(b, s, []object{service, slice})...)
	}
	s.update(changes, everything)
	s.Take()
	return s
}

func benchService(i int) (object, *discoveryv1.EndpointSlice) {
	service := newService()
	service.Name = fmt.Sprintf("svc-%d", i)
	service.Spec.ClusterIP = fmt.Sprintf("10.96.%d.%d", i/250, i%250+1)
	slice := newSlice(service.Name + "-x2x4z")
	slice.Labels[discoveryv1.LabelServiceName] = service.Name
	for e := range 10 {
		addr, zone := fmt.Sprintf("10.%d.%d.%d", e+1, i/250, i%250+1), fmt.Sprintf("zone-%d", (i+e)%3)
		slice.Endpoints = append(slice.Endpoints, ep(addr, fmt.Sprintf("node-%d", (i+e)%500), func(p *discoveryv1.Endpoint) {
			p.Zone, p.Hints = &zone, &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: zone}}}
		}))
	}
	return service, slice
}

// What a change costs, counted and not timed, so that it can be a test.
func TestTheCostOfAChangeDoesNotGrowWithTheNumberOfServices(t *testing.T) {
	cost := func(services int) float64 {
		s := clusterOf(t, services)
		_, slice := benchService(services / 2)
		i := 0
		return testing.AllocsPerRun(100, func() {
			i++
			slice.Endpoints[0].Addresses[0] = [2]string{"10.200.0.1", "10.200.0.2"}[i%2]
			_ = s.Set(slice)
			for _, n := range s.Take().Services {
				s.Service(n)
			}
		})
	}
	require.InDelta(t, cost(10), cost(5_000), 1)
}

var benchSizes = []int{1_000, 10_000, 50_000}

// One endpoint of one Service changes, and a proxy takes the change. The cost
// must not grow with the number of Services.
func BenchmarkOneEndpointChanges(b *testing.B) {
	for _, services := range benchSizes {
		b.Run(fmt.Sprintf("services=%d", services), func(b *testing.B) {
			s := clusterOf(b, services)
			_, slice := benchService(services / 2)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				slice.Endpoints[0].Addresses[0] = [2]string{"10.200.0.1", "10.200.0.2"}[i%2]
				_ = s.Set(slice)
				for _, n := range s.Take().Services {
					if service, ok := s.Service(n); !ok || len(service.Ports[0].Endpoints) != 10 {
						b.Fatal("the change is lost")
					}
				}
			}
		})
	}
}

// An object arrives that means the same as before.
func BenchmarkNothingChanges(b *testing.B) {
	s := clusterOf(b, 1_000)
	_, slice := benchService(500)
	b.ReportAllocs()
	for b.Loop() {
		_ = s.Set(slice)
	}
	require.True(b, waits(s))
}

// The first list of a cluster, and what it takes to hold it.
func BenchmarkFirstList(b *testing.B) {
	for _, services := range benchSizes {
		b.Run(fmt.Sprintf("services=%d", services), func(b *testing.B) {
			objects := make([]object, 0, 2*services)
			for i := range services {
				service, slice := benchService(i)
				objects = append(objects, service, slice)
			}
			b.ReportAllocs()
			b.ResetTimer()
			list := func() *Store {
				s := NewStore(benchOptions)
				s.update(mustConvert(b, s, objects), everything)
				return s
			}
			for range b.N {
				list()
			}
			b.StopTimer()
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			s := list()
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/float64(services*10), "heap-B/endpoint")
			require.Len(b, s.Services(), services)
			runtime.KeepAlive(objects)
		})
	}
}
