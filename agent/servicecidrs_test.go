package agent

import (
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nearside/nearside/nft"
)

func serviceCIDR(name string, cidrs ...string) *networkingv1.ServiceCIDR {
	return &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: cidrs}}
}

// TestServiceCIDRsReachTheirTables walks them from none through one of both
// families and another, and back. No service is selected for it.
func TestServiceCIDRsReachTheirTables(t *testing.T) {
	b := newCommitBench(t)
	b.begin()
	holds := func(f nft.Family) string {
		for _, family := range b.families {
			if family.id == f {
				return family.table.Ruleset().Text()
			}
		}
		return ""
	}
	require.NotContains(t, holds(nft.IPv4), "10.96.0.0/16")

	require.NoError(t, b.store.Set(serviceCIDR("kubernetes", "10.96.0.0/16", "fd00:96::/112")))
	r := b.sync(take(t, b.Agent))
	require.NoError(t, r.Err())
	require.Zero(t, r.Selected)
	for f, cidr := range map[nft.Family]string{nft.IPv4: "10.96.0.0/16", nft.IPv6: "fd00:96::/112"} {
		texts := b.texts(f)
		require.Contains(t, texts[len(texts)-1], cidr, "what was sent last")
		require.Contains(t, holds(f), cidr)
	}
	sent := len(b.texts(nft.IPv6))

	require.NoError(t, b.store.Set(serviceCIDR("more", "10.90.0.0/20")))
	r = b.sync(take(t, b.Agent))
	require.NoError(t, r.Err())
	require.Contains(t, holds(nft.IPv4), "10.90.0.0/20")
	require.Len(t, b.texts(nft.IPv6), sent, "nothing changed there")

	require.NoError(t, b.store.Delete(serviceCIDR("more"), serviceCIDR("kubernetes")))
	r = b.sync(take(t, b.Agent))
	require.NoError(t, r.Err())
	require.NotContains(t, holds(nft.IPv4), "10.96.0.0/16")
	require.NotContains(t, holds(nft.IPv4), "10.90.0.0/20")
	require.NotContains(t, holds(nft.IPv6), "fd00:96::/112")
}

// TestAServiceCIDRThatHoldsEverythingIsLeftOut tells of it once, and takes the
// rest of the object.
func TestAServiceCIDRThatHoldsEverythingIsLeftOut(t *testing.T) {
	var notices []Notice
	b := newCommitBench(t)
	b.opts.OnNotice = func(n Notice) { notices = append(notices, n) }
	b.begin()
	require.NoError(t, b.store.Set(serviceCIDR("all", "0.0.0.0/0", "10.90.0.0/20")))
	first := b.sync(take(t, b.Agent))
	require.NoError(t, first.Err())
	require.NoError(t, b.store.Set(serviceCIDR("more", "10.80.0.0/20")))
	second := b.sync(take(t, b.Agent))
	require.NoError(t, second.Err())
	require.Len(t, notices, 1)
	require.Equal(t, Notice{
		Reason: Skipped, Kind: "ServiceCIDR", Object: "all", Field: "spec.cidrs", Value: "0.0.0.0/0",
		Message: "holds every address; it is left out",
	}, notices[0])
	texts := b.texts(nft.IPv4)
	require.Contains(t, texts[len(texts)-1], "10.80.0.0/20")
	require.Contains(t, texts[len(texts)-1], "10.90.0.0/20")
}
