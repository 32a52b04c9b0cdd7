package agent

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/nft"
	"github.com/nearside/nearside/selector"
)

func TestOptionsDefaults(t *testing.T) {
	o, err := Options{NodeName: "node-a"}.withDefaults()
	require.NoError(t, err)
	require.Equal(t, "Cluster", o.DefaultPolicy)
	require.Equal(t, time.Second, o.MinSyncPeriod)
	require.Equal(t, time.Minute, o.HealthTimeout)
	require.Equal(t, NodePortAddresses{Primary: true}, o.NodePortAddresses)
	require.NotNil(t, o.Log)
	for _, name := range selector.Names() {
		require.Contains(t, o.Selectors, name)
	}
	require.NotContains(t, o.Selectors, "Local", "an annotation must not choose what belongs to the Service API")
}

func TestNegativeMinSyncPeriodMeansNoWait(t *testing.T) {
	o, err := Options{NodeName: "node-a", MinSyncPeriod: -1}.withDefaults()
	require.NoError(t, err)
	require.Zero(t, o.MinSyncPeriod)
}

func TestNewSaysWhatIsWrong(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"the node name is missing": {
			func(o *Options) { o.NodeName = "" }, "node name is empty: give the name of this machine's Node object",
		},
		"the node name is a path": {
			func(o *Options) { o.NodeName = "nodes/a" }, `node name "nodes/a" is not a name`,
		},
		"the default policy is unknown": {
			func(o *Options) { o.DefaultPolicy = "Nearest" },
			`unknown default policy "Nearest": expected one of "Cluster", "LocalIfPlenty", "PreferLocal"`,
		},
		"the default policy is not among one's own selectors": {
			func(o *Options) { o.Selectors = map[string]selector.Selector{"Mine": selector.Cluster{}} },
			`unknown default policy "Cluster": expected one of "Mine"`,
		},
		"a selector is nil": {
			func(o *Options) { o.Selectors["Mine"] = nil }, `selector "Mine" is nil`,
		},
		"a selector has no name": {
			func(o *Options) { o.Selectors[""] = selector.Cluster{} }, `selector name "" is not a name`,
		},
		"two cluster CIDRs are of one family": {
			func(o *Options) {
				o.ClusterCIDRs = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12")}
			},
			`cluster CIDRs "10.0.0.0/8" and "172.16.0.0/12" are of one IP family`,
		},
		"a cluster CIDR is the zero value": {
			func(o *Options) { o.ClusterCIDRs = []netip.Prefix{{}} }, "is not valid",
		},
		"a cluster CIDR is IPv4 in IPv6": {
			func(o *Options) { o.ClusterCIDRs = []netip.Prefix{netip.MustParsePrefix("::ffff:10.0.0.0/104")} }, "is not valid",
		},
		"a family is unknown": {
			func(o *Options) { o.Families = []nft.Family{7} }, "unknown IP family 7",
		},
		"a family is given twice": {
			func(o *Options) { o.Families = []nft.Family{nft.IPv4, nft.IPv4} }, "IP family ip is given twice",
		},
		"the health timeout is negative": {
			func(o *Options) { o.HealthTimeout = -time.Second }, "health timeout -1s is negative",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{NodeName: "node-a", Selectors: builtinSelectors()}
			tc.change(&o)
			_, err := New(o)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestEachFamilyHasItsOwnClusterCIDR(t *testing.T) {
	v4, v6 := netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("fd00::/48")
	o := Options{ClusterCIDRs: []netip.Prefix{v6, v4}}
	require.Equal(t, v4, o.tableConfig(nft.IPv4, nil).ClusterCIDR)
	require.Equal(t, v6, o.tableConfig(nft.IPv6, nil).ClusterCIDR)
	o.ClusterCIDRs = o.ClusterCIDRs[:1]
	require.False(t, o.tableConfig(nft.IPv4, nil).ClusterCIDR.IsValid())
}
