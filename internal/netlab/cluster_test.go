package netlab

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func testPlan(delay time.Duration) Plan {
	return Plan{ZoneDelay: delay, Zones: []Zone{
		{Name: "zone-1", Nodes: []Node{
			{Name: "node-a", Pods: []string{"pod-a1", "pod-a2"}},
			{Name: "node-b", Pods: []string{"pod-b"}},
		}},
		{Name: "zone-2", Nodes: []Node{{Name: "node-c", Pods: []string{"pod-c"}}}},
	}}
}

func TestPlanValidate(t *testing.T) {
	require.NoError(t, testPlan(0).validate())
	tests := []struct {
		name string
		plan Plan
		want string
	}{
		{name: "a plan without zones", plan: Plan{}, want: "plan 0 zones"},
		{
			name: "a name that is too long for an interface",
			plan: Plan{Zones: []Zone{{Name: "zone-with-a-long-name"}}}, want: "at most 15",
		},
		{
			name: "a name that is used twice",
			plan: Plan{Zones: []Zone{{Name: "a", Nodes: []Node{{Name: "a"}}}}}, want: "used twice",
		},
		{
			name: "more pods than a node has addresses for",
			plan: Plan{Zones: []Zone{{Name: "a", Nodes: []Node{{Name: "b", Pods: make([]string, 201)}}}}}, want: "201 pods",
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) { require.ErrorContains(t, tc.plan.validate(), tc.want) })
	}
}

func TestCluster(t *testing.T) {
	const delay = 5 * time.Millisecond
	for _, tc := range []struct {
		name  string
		delay time.Duration
	}{
		{name: "with a delay between zones", delay: delay},
		{name: "without a delay between zones", delay: 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lab := newLab(t)
			cluster, err := BuildCluster(t.Context(), lab, testPlan(tc.delay))
			require.NoError(t, err)
			defer func() { require.NoError(t, cluster.Close()) }()
			delayed, why := cluster.Delayed()
			require.NoError(t, why)
			require.Equal(t, tc.delay > 0, delayed)
			for _, from := range []string{"pod-a1", "pod-a2", "pod-b", "pod-c"} {
				for _, to := range []string{"pod-a1", "pod-a2", "pod-b", "pod-c"} {
					took := connect(t, cluster, from, to)
					crosses := (from == "pod-c") != (to == "pod-c")
					if crosses && delayed {
						require.Greater(t, took, 2*delay, "%s to %s", from, to)
					} else {
						require.Less(t, took, 2*delay, "%s to %s", from, to)
					}
				}
			}
		})
	}
}

// connect dials from one pod to another, checks that the other sees the first
// one's own address, and returns the least time of several tries.
func connect(t *testing.T, c *Cluster, from, to string) time.Duration {
	t.Helper()
	l, err := c.Pod(to).Host.Listen(t.Context(), "tcp4", netip.AddrPortFrom(c.Pod(to).Addr, 8080).String())
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	least := time.Hour
	for range 3 {
		var conn net.Conn
		var took time.Duration
		require.NoError(t, c.Pod(from).Host.Do(func() (err error) {
			start := time.Now()
			conn, err = net.DialTimeout("tcp4", l.Addr().String(), 3*time.Second)
			took = time.Since(start)
			return err
		}))
		accepted, err := l.Accept()
		require.NoError(t, err)
		peer := accepted.RemoteAddr().(*net.TCPAddr).AddrPort().Addr()
		require.Equal(t, c.Pod(from).Addr, peer)
		require.NoError(t, accepted.Close())
		require.NoError(t, conn.Close())
		least = min(least, took)
	}
	return least
}
