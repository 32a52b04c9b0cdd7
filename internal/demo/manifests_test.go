package demo

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestManifests(t *testing.T) {
	sc := theScenario()
	addrs := make(map[string]netip.Addr)
	for i, p := range sc.pods {
		addrs[p.name] = netip.AddrFrom4([4]byte{10, 244, 0, byte(i + 1)})
	}
	m, err := newManifests(t.TempDir(), sc, addrs)
	require.NoError(t, err)
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(m.folder, name))
		require.NoError(t, err)
		return string(b)
	}
	require.NoError(t, m.writeNodes())
	golden(t, "nodes.golden", read("nodes.yaml"))

	require.NoError(t, m.writeServices(policyLocal))
	golden(t, "services-local.golden", read("services.yaml"))
	require.NoError(t, m.writeServices(policyPreferLocal))
	require.Contains(t, read("services.yaml"), "nearside.dev/policy: PreferLocal")
	require.Contains(t, read("services.yaml"), "internalTrafficPolicy: Cluster")

	now := sc.start()
	now[leaving], now[replacement] = terminating, ready
	require.NoError(t, m.writeEndpoints(now))
	golden(t, "endpoints.golden", read("endpoints.yaml"))

	left, err := os.ReadDir(m.draft)
	require.NoError(t, err)
	require.Empty(t, left, "drafts are moved")
}

func TestOptions(t *testing.T) {
	o, err := Options{}.withDefaults()
	require.NoError(t, err)
	require.Equal(t, DefaultConnections, o.Connections)
	require.Equal(t, DefaultZoneDelay, o.ZoneDelay)
	self, err := os.Executable()
	require.NoError(t, err)
	require.Equal(t, self, o.Agent)

	o, err = Options{ZoneDelay: -1, Connections: 5, Agent: "/bin/agent"}.withDefaults()
	require.NoError(t, err)
	require.Zero(t, o.ZoneDelay)
	require.Equal(t, 5, o.Connections)

	_, err = Options{ZoneDelay: time.Second}.withDefaults()
	require.ErrorContains(t, err, "delay packets between zones by 1s: expected at most 100ms")

	_, err = Options{Connections: -5}.withDefaults()
	require.ErrorContains(t, err, "make -5 connections from each client: expected a positive number")
}
