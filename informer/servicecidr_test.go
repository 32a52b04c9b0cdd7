package informer

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func newServiceCIDR(name string, cidrs ...string) *networkingv1.ServiceCIDR {
	return &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: cidrs}}
}

func prefixes(texts ...string) (out []netip.Prefix) {
	for _, text := range texts {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

func TestServiceCIDRs(t *testing.T) {
	kubernetes := newServiceCIDR("kubernetes", "10.96.0.0/16", "fd00:96::/112")
	now := metav1.Now()
	tests := []struct {
		name     string
		do       func(t *testing.T, s *Store)
		want     []netip.Prefix
		unseen   bool // the proxy has nothing to do
		problems []string
	}{
		{
			name: "all prefixes of an object count",
			do:   func(*testing.T, *Store) {},
			want: prefixes("10.96.0.0/16", "fd00:96::/112"), unseen: true,
		},
		{
			name: "Y5: an object that comes causes work",
			do:   func(t *testing.T, s *Store) { require.NoError(t, s.Set(newServiceCIDR("more", "10.90.0.0/20"))) },
			want: prefixes("10.90.0.0/20", "10.96.0.0/16", "fd00:96::/112"),
		},
		{
			name: "Y5: an object that goes causes work",
			do:   func(t *testing.T, s *Store) { require.NoError(t, s.Delete(kubernetes)) },
		},
		{
			name: "Y5: an object that changes causes work",
			do:   func(t *testing.T, s *Store) { require.NoError(t, s.Set(newServiceCIDR("kubernetes", "10.96.0.0/16"))) },
			want: prefixes("10.96.0.0/16"),
		},
		{
			name: "a new list without the object deletes it",
			do: func(t *testing.T, s *Store) {
				replace(t, s, newNode("node-a", ""), newServiceCIDR("more", "10.90.0.0/20"))
			},
			want: prefixes("10.90.0.0/20"),
		},
		{
			name: "a status and an order of prefixes mean nothing",
			do: func(t *testing.T, s *Store) {
				same := newServiceCIDR("kubernetes", "fd00:96::/112", "10.96.0.0/16")
				same.Status.Conditions = []metav1.Condition{{Type: networkingv1.ServiceCIDRConditionReady}}
				require.NoError(t, s.Set(same))
			},
			want: prefixes("10.96.0.0/16", "fd00:96::/112"), unseen: true,
		},
		{
			name: "an object that is being deleted counts until it is gone",
			do: func(t *testing.T, s *Store) {
				going := newServiceCIDR("kubernetes", kubernetes.Spec.CIDRs...)
				going.DeletionTimestamp = &now
				require.NoError(t, s.Set(going))
			},
			want: prefixes("10.96.0.0/16", "fd00:96::/112"), unseen: true,
		},
		{
			name: "what lies within another prefix is not there twice",
			do: func(t *testing.T, s *Store) {
				require.NoError(t, s.Set(newServiceCIDR("within", "10.96.7.0/24", "fd00:96::/112"), newServiceCIDR("same", "10.96.0.0/16")))
			},
			want: prefixes("10.96.0.0/16", "fd00:96::/112"), unseen: true,
		},
		{
			name: "what lay within another prefix comes up when that goes",
			do: func(t *testing.T, s *Store) {
				require.NoError(t, s.Set(newServiceCIDR("within", "10.96.7.0/24")))
				require.NoError(t, s.Delete(kubernetes))
			},
			want: prefixes("10.96.7.0/24"),
		},
		{
			name: "neighbours stay apart, and the widest of one beginning wins",
			do: func(t *testing.T, s *Store) {
				require.NoError(t, s.Set(newServiceCIDR("wide", "10.96.0.0/24", "10.97.0.0/16", "10.96.0.0/15", "10.98.0.0/16")))
			},
			want: prefixes("10.96.0.0/15", "10.98.0.0/16", "fd00:96::/112"),
		},
		{
			name: "a prefix that came and went is no change",
			do: func(t *testing.T, s *Store) {
				require.NoError(t, s.Set(newServiceCIDR("more", "10.90.0.0/20")))
				require.NoError(t, s.Delete(newServiceCIDR("more")))
			},
			want: prefixes("10.96.0.0/16", "fd00:96::/112"), unseen: true,
		},
		{
			name: "prefixes that cannot be used cost only themselves",
			do: func(t *testing.T, s *Store) {
				require.NoError(t, s.Set(newServiceCIDR("odd", "10.90.0.0/99", "010.91.0.1/16", "", "0.0.0.0/0", "::/0", "ten")))
			},
			want: prefixes("10.91.0.0/16", "10.96.0.0/16", "fd00:96::/112"),
			problems: []string{
				`ServiceCIDR odd spec.cidrs "10.90.0.0/99": is not a prefix such as 10.0.0.0/8; it is left out`,
				`ServiceCIDR odd spec.cidrs "": is not a prefix such as 10.0.0.0/8; it is left out`,
				`ServiceCIDR odd spec.cidrs "0.0.0.0/0": holds every address; it is left out`,
				`ServiceCIDR odd spec.cidrs "::/0": holds every address; it is left out`,
				`ServiceCIDR odd spec.cidrs "ten": is not a prefix such as 10.0.0.0/8; it is left out`,
			},
		},
		{
			name: "an object of which nothing is left is as good as none",
			do: func(t *testing.T, s *Store) {
				require.NoError(t, s.Set(newServiceCIDR("kubernetes", "x")))
				require.Empty(t, s.serviceCIDRs)
			},
			problems: []string{`ServiceCIDR kubernetes spec.cidrs "x": is not a prefix such as 10.0.0.0/8; it is left out`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := newStore(t, newNode("node-a", ""), kubernetes)
			before := s.ServiceCIDRs()
			tt.do(t, s)
			require.Equal(t, tt.unseen, waits(s))
			require.Equal(t, Changes{Services: []Name{}, ServiceCIDRs: !tt.unseen}, s.Take())
			require.True(t, waits(s))
			require.Equal(t, tt.want, s.ServiceCIDRs())
			var told []string
			for _, p := range s.Problems() {
				told = append(told, p.String())
			}
			require.Equal(t, tt.problems, told)
			require.Equal(t, prefixes("10.96.0.0/16", "fd00:96::/112"), before, "what was given out does not change")
		})
	}
}

func TestProblemsOfServiceCIDRsGoWithThem(t *testing.T) {
	s, told := newStore(t, newNode("node-a", ""), newServiceCIDR("odd", "x"))
	require.Len(t, *told, 1)
	replace(t, s, newNode("node-a", ""))
	require.Empty(t, s.Problems())
}

func TestNobodyWaitsForServiceCIDRs(t *testing.T) {
	s := NewStore(StoreOptions{NodeName: "node-a", OnProblem: func(Problem) {}})
	s.update(mustConvert(t, s, []object{newServiceCIDR("kubernetes", "10.96.0.0/16")}), []kind{kindServiceCIDR})
	require.True(t, waits(s), "they alone are no cluster")
	require.Equal(t, Changes{}, s.Take())
	s.update(nil, []kind{kindService, kindSlice, kindNode})
	require.NoError(t, s.Wait(t.Context()))
	require.Equal(t, Changes{Services: []Name{}, Node: true, ServiceCIDRs: true}, s.Take())

	late := NewStore(StoreOptions{NodeName: "node-a", OnProblem: func(Problem) {}})
	late.update(nil, []kind{kindService, kindSlice, kindNode})
	require.Equal(t, Changes{Services: []Name{}, Node: true}, late.Take())
	late.update(mustConvert(t, late, []object{newServiceCIDR("kubernetes", "10.96.0.0/16")}), []kind{kindServiceCIDR})
	require.False(t, waits(late))
	require.Equal(t, Changes{Services: []Name{}, ServiceCIDRs: true}, late.Take())
}
