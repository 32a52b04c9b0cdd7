package agent

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nearside/nearside/nft"
)

// swallow is a kernel that takes everything and costs nothing.
type swallow struct{}

func (swallow) ReadBack(context.Context, nft.Family) (*nft.Ruleset, error) { return nil, nil }
func (swallow) Apply(context.Context, *nft.Transaction) error              { return nil }

// BenchmarkRoundOfOneEndpoint is everything the agent does, short of the kernel,
// when one of a service's ten endpoints is replaced. It must not depend on the
// number of services.
func BenchmarkRoundOfOneEndpoint(b *testing.B) {
	for _, services := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("services=%d", services), func(b *testing.B) {
			a, err := New(Options{NodeName: "node-a", Families: nft.Families})
			require.NoError(b, err)
			require.NoError(b, a.store.Replace(manyServices(services)...))
			a.setFamilies(nft.Families)
			first := a.round(b.Context(), swallow{}, a.store.Take())
			require.NoError(b, first.Err())
			versions := []runtime.Object{tenEndpoints(services/2, 1), tenEndpoints(services/2, 2)}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				if err := a.store.Set(versions[(i+1)%2]); err != nil {
					b.Fatal(err)
				}
				if r := a.round(b.Context(), swallow{}, a.store.Take()); r.Err() != nil || r.Changes() != 2 {
					b.Fatal(r)
				}
			}
		})
	}
}

func manyServices(n int) []runtime.Object {
	objects := threeNodes()
	for i := range n {
		objects = append(objects, serviceObject(fmt.Sprintf("s%d", i), fmt.Sprintf("10.%d.%d.1", 96+i/256, i%256)), tenEndpoints(i, 1))
	}
	return objects
}

// tenEndpoints are the endpoints of service i; the last one differs by version.
func tenEndpoints(i, version int) runtime.Object {
	var endpoints []string
	for e := range 9 {
		endpoints = append(endpoints, fmt.Sprintf("172.%d.%d.%d@node-b", 16+i/256, i%256, e+1))
	}
	endpoints = append(endpoints, fmt.Sprintf("172.%d.%d.%d@node-c", 16+i/256, i%256, 100+version))
	return sliceObject(fmt.Sprintf("s%d", i), endpoints...)
}
