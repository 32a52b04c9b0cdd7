package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nearside/nearside/nft"
	"github.com/nearside/nearside/selector"
)

// planOf selects the service shop/web for node-a and plans it for a family.
func planOf(t *testing.T, f nft.Family, opts Options, objects ...runtime.Object) nft.Service {
	t.Helper()
	a := newTestAgent(t, opts, append(threeNodes(), objects...)...)
	s, ok := a.store.Service(shop("web"))
	require.True(t, ok)
	env := a.currentEnvironment()
	return a.policies.selectService(s, env).plan(f, env.node)
}

func TestPlanMarksLocalBackends(t *testing.T) {
	got := planOf(t, nft.IPv4, Options{}, serviceObject("web", "10.96.0.1"),
		sliceObject("web", "10.0.0.2@node-b", "10.0.0.1@node-a"))
	require.Equal(t, "shop/web", got.Name)
	require.Equal(t, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix(), got.Rank)
	require.Len(t, got.Frontends, 1)
	fe := got.Frontends[0]
	require.Equal(t, "http", fe.Port)
	require.Equal(t, "10.96.0.1:80", fe.Addr.String())
	require.Equal(t, nft.TCP, fe.Protocol)
	require.Len(t, fe.Backends, 2)
	require.Equal(t, "10.0.0.1:8080", fe.Backends[0].Addr.String())
	require.True(t, fe.Backends[0].Local)
	require.False(t, fe.Backends[1].Local)
	require.Equal(t, 1, fe.Backends[1].Weight)
}

func TestPlanKeepsFamiliesApart(t *testing.T) {
	objects := []runtime.Object{
		serviceObject("web", "10.96.0.1", "fd00:96::1"),
		sliceObject("web", "10.0.0.1@node-a"),
		sliceObject("web", "fd00::1@node-a", "fd00::2@node-b"),
	}
	v4 := planOf(t, nft.IPv4, Options{}, objects...)
	require.Len(t, v4.Frontends, 1)
	require.Len(t, v4.Frontends[0].Backends, 1)
	v6 := planOf(t, nft.IPv6, Options{}, objects...)
	require.Len(t, v6.Frontends, 1)
	require.Equal(t, "[fd00:96::1]:80", v6.Frontends[0].Addr.String())
	require.Len(t, v6.Frontends[0].Backends, 2)
}

func TestPlanSaysWhatEmptyMeans(t *testing.T) {
	local := corev1.ServiceInternalTrafficPolicyLocal
	svc := serviceObject("web", "10.96.0.1")
	none := planOf(t, nft.IPv4, Options{}, svc)
	require.Empty(t, none.Frontends[0].Backends)
	require.Equal(t, nft.Reject, none.Frontends[0].Empty, "no endpoint anywhere is a refusal")
	svc.Spec.InternalTrafficPolicy = &local
	elsewhere := planOf(t, nft.IPv4, Options{}, svc, sliceObject("web", "10.0.0.2@node-b"))
	require.Empty(t, elsewhere.Frontends[0].Backends)
	require.Equal(t, nft.Drop, elsewhere.Frontends[0].Empty, "endpoints on other nodes only mean silence")
}

func TestPlanTranslatesEveryProtocol(t *testing.T) {
	require.Equal(t, nft.TCP, protocolOf("TCP"))
	require.Equal(t, nft.UDP, protocolOf("UDP"))
	require.Equal(t, nft.SCTP, protocolOf("SCTP"))
	require.Zero(t, protocolOf("tcp"))
}

// weighted gives endpoints on other nodes three times the connections.
type weighted struct{}

func (weighted) Select(req *selector.Request) selector.Selection {
	s := selector.Cluster{}.Select(req)
	for i, b := range s.Backends {
		for _, e := range req.Endpoints {
			if e.Addr == b.Addr && !e.LocalTo(req.Node) {
				s.Backends[i].Weight = 3
			}
		}
	}
	return s
}

func TestPlanPassesWeightsOn(t *testing.T) {
	got := planOf(t, nft.IPv4, Options{Selectors: map[string]selector.Selector{"Cluster": weighted{}}},
		serviceObject("web", "10.96.0.1"), sliceObject("web", "10.0.0.2@node-b", "10.0.0.1@node-a"))
	require.Equal(t, 1, got.Frontends[0].Backends[0].Weight)
	require.Equal(t, 3, got.Frontends[0].Backends[1].Weight)
}
