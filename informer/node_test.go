package informer

import (
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhatMattersOfTheOwnNode(t *testing.T) {
	base := func() *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "node-a", Labels: map[string]string{corev1.LabelTopologyZone: "zone-1"}},
			Spec:       corev1.NodeSpec{PodCIDR: "10.1.1.0/24", PodCIDRs: []string{"10.1.1.0/24", "fd00:10:1:1::/64"}},
			Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeHostName, Address: "node-a"},
				{Type: corev1.NodeExternalIP, Address: "203.0.113.5"},
				{Type: corev1.NodeInternalIP, Address: "192.0.2.11"},
				{Type: corev1.NodeInternalIP, Address: "fd00::11"},
				{Type: corev1.NodeInternalIP, Address: "192.0.2.11"},
			}},
		}
	}
	want := Node{
		Name: "node-a", Known: true, Zone: "zone-1",
		Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.11"), netip.MustParseAddr("fd00::11"), netip.MustParseAddr("203.0.113.5")},
		PodCIDRs:  []netip.Prefix{netip.MustParsePrefix("10.1.1.0/24"), netip.MustParsePrefix("fd00:10:1:1::/64")},
	}
	now := metav1.NewTime(time.Unix(1, 0))
	for _, c := range []struct {
		name     string
		change   func(*corev1.Node)
		want     func(*Node)
		work     bool // the proxy has something to do
		problems int
	}{
		{name: "internal addresses come before external ones", change: func(*corev1.Node) {}, want: func(*Node) {}},
		{name: "another label causes no work", change: func(n *corev1.Node) { n.Labels["color"] = "red" }, want: func(*Node) {}},
		{name: "another condition causes no work", change: func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
		}, want: func(*Node) {}},
		{name: "another zone causes work", change: func(n *corev1.Node) { n.Labels[corev1.LabelTopologyZone] = "zone-2" },
			want: func(n *Node) { n.Zone = "zone-2" }, work: true},
		{name: "another address causes work", change: func(n *corev1.Node) { n.Status.Addresses = n.Status.Addresses[:2] },
			want: func(n *Node) { n.Addresses = n.Addresses[2:] }, work: true},
		{name: "an old object has one range of pods", change: func(n *corev1.Node) { n.Spec.PodCIDRs = nil },
			want: func(n *Node) { n.PodCIDRs = n.PodCIDRs[:1] }, work: true},
		{name: "an impossible address and range cost only themselves", change: func(n *corev1.Node) {
			n.Status.Addresses[4].Address = "not an address"
			n.Spec.PodCIDRs = append(n.Spec.PodCIDRs, "10.0.0.0/99", "")
		}, want: func(*Node) {}, problems: 3},
		{name: "a node that is being deleted is leaving", change: func(n *corev1.Node) { n.DeletionTimestamp = &now },
			want: func(n *Node) { n.Leaving = true }, work: true},
		{name: "a node that the autoscaler removes is leaving", change: func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "other"}, {Key: taintLeaving}}
		}, want: func(n *Node) { n.Leaving = true }, work: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewStore(StoreOptions{NodeName: "node-a", Log: slog.New(slog.DiscardHandler)})
			require.NoError(t, s.Replace(base()))
			require.True(t, s.Take().Node)
			changed, expected := base(), want
			c.change(changed)
			c.want(&expected)
			require.NoError(t, s.Set(changed))
			require.Equal(t, expected, s.Node())
			require.Equal(t, c.work, s.Take().Node)
			require.Len(t, s.Problems(), c.problems)
		})
	}
}

func TestPrefixesAreReadSloppily(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.0.0/8":           "10.0.0.0/8",
		"010.001.002.003/016":  "10.1.0.0/16",
		"fd00::1/64":           "fd00::/64",
		"::ffff:10.0.0.1/104":  "10.0.0.0/8",
		"0.0.0.0/0":            "0.0.0.0/0",
		"10.0.0.0":             "",
		"10.0.0.0/33":          "",
		"10.0.0.0/-1":          "",
		"10.0.0.0/+8":          "",
		"fd00::/129":           "",
		"/8":                   "",
		"10.0.0.0/8/8":         "",
		"fe80::1%eth0/64":      "",
		"10.0.0.0/99999999999": "",
	} {
		p, reason := parsePrefix(text)
		if want == "" {
			require.NotEmpty(t, reason, text)
			continue
		}
		require.Empty(t, reason, text)
		require.Equal(t, want, p.String(), text)
	}
}
