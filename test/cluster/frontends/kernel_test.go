package frontends_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/internal/netns"
	"github.com/nearside/nearside/test/cluster/frontends"
)

// table is a small table of the layout that nearside writes; the elements vary.
const table = `
table ip nearside {
	map backends {
		typeof ip daddr . meta l4proto . th dport . numgen random mod 2 : ip daddr . th dport
		elements = { SLOTS }
	}
	map frontends {
		type ipv4_addr . inet_proto . inet_service : verdict
		elements = { 10.96.0.1 . tcp . 80 : goto pick-2, 10.96.0.2 . udp . 53 : goto refuse, 10.96.0.3 . tcp . 80 : drop, EXTRA }
	}
	chain idle {
	}
	chain refuse {
		reject
	}
	chain pick-2 {
		dnat ip to ip daddr . meta l4proto . th dport . numgen random mod 2 map @backends
		dnat ip to ip daddr . meta l4proto . th dport . numgen random mod 1 map @backends
		drop
	}
}`

func TestKernel(t *testing.T) {
	const (
		first  = "10.96.0.1 . tcp . 80 . 0 : 10.0.0.2 . 8080"
		second = "10.96.0.1 . tcp . 80 . 1 : 10.0.0.1 . 8080"
		third  = "10.96.0.1 . tcp . 80 . 2 : 10.0.0.3 . 8080"
	)
	for _, test := range []struct {
		name  string
		slots string
		extra string // elements of the map of frontends
		want  frontends.State
		err   string
	}{
		{
			name: "follows verdicts and slots", slots: first + ", " + second,
			want: frontends.State{
				"tcp 10.96.0.1:80": "10.0.0.1:8080 10.0.0.2:8080",
				"udp 10.96.0.2:53": frontends.Reject,
				"tcp 10.96.0.3:80": frontends.Drop,
			},
		},
		{
			name: "a verdict leads to a chain that does nothing", slots: first + ", " + second, extra: " 10.96.0.4 . tcp . 80 : goto idle",
			err: `frontend tcp 10.96.0.4:80: it leads to chain "idle", which neither draws a slot nor rejects`,
		},
		{name: "a slot that can be drawn is missing", slots: first, err: "tcp 10.96.0.1:80 may draw slot 1, which is not there"},
		{name: "a slot can never be drawn", slots: first + ", " + second + ", " + third, err: "3 slots are there, but frontends may draw only 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ns := netns.New(t)
			ns.Run(t, "nft", strings.NewReplacer("SLOTS", test.slots, "EXTRA", test.extra).Replace(table))
			var state frontends.State
			err := ns.Do(func() (err error) {
				state, err = frontends.Kernel(t.Context())
				return err
			})
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, state)
		})
	}
}

func TestKernelWithoutTable(t *testing.T) {
	ns := netns.New(t)
	ns.Must(t, func() error {
		state, err := frontends.Kernel(t.Context())
		require.Empty(t, state)
		return err
	})
}
