package examples_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/internal/netns"
)

func TestEmbeddedPrintsTheTablesOfANode(t *testing.T) {
	for _, tc := range []struct {
		name   string
		args   []string
		has    []string
		hasNot []string
	}{
		{
			name: "services that name no policy have one active endpoint, the same on every node",
			args: []string{"-node", "node-c"},
			has: []string{
				"10.96.0.10 . tcp . 80 . 0 : 10.1.1.10 . 8080",
				"10.96.0.10 . tcp . 80 : goto pick-1",
				"fd00:10:96::10 . tcp . 80 . 0 : fd00:10:1:1::10 . 8080",
			},
			hasNot: []string{"10.1.2.10 . 8080", "10.1.3.10 . 8080"},
		},
		{
			name: "an annotation still chooses a built-in policy",
			args: []string{"-node", "node-c"},
			has:  []string{"10.96.0.53 . udp . 53 . 0 : 10.1.3.53 . 5353", "10.96.0.53 . tcp . 53 . 0 : 10.1.3.53 . 5353"},
		},
		{
			name:   "the default can be a built-in policy",
			args:   []string{"-node", "node-c", "-default-policy", "PreferLocal"},
			has:    []string{"10.96.0.10 . tcp . 80 . 0 : 10.1.3.10 . 8080"},
			hasNot: []string{"10.1.1.10 . 8080"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out := ok(t, "embedded", tc.args...)
			for _, want := range tc.has {
				require.Contains(t, out, want)
			}
			for _, unwanted := range tc.hasNot {
				require.NotContains(t, out, unwanted)
			}
			requireLoadable(t, netns.New(t), out)
		})
	}
}

func TestEmbeddedProgramsTheKernelOnce(t *testing.T) {
	ns := netns.New(t)
	manifests, err := filepath.Abs("manifests")
	require.NoError(t, err)
	embedded := filepath.Join(programs, "embedded")
	apply := func() string { return ns.Run(t, embedded, "-node", "node-b", "-f", manifests, "-apply") }

	require.Contains(t, apply(), "node node-b: ")
	require.Equal(t, ok(t, "embedded", "-node", "node-b"), ns.Run(t, "nft", "list", "ruleset"), "the kernel has what was printed")
	require.Contains(t, apply(), " 0 objects changed\n", "the second time there is nothing to do")
}

func TestEmbeddedNamesWhatItCannotUse(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{name: "a policy nobody knows", args: []string{"-default-policy", "Nearest"}, want: `embedded: unknown default policy "Nearest"`},
		{name: "a folder that is not there", args: []string{"-f", "no-such-folder"}, want: "no-such-folder"},
		{name: "a node without a name", args: []string{"-node", ""}, want: "embedded: node name is empty"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := run(t, "embedded", tc.args...)
			require.Equal(t, 1, r.status)
			require.Contains(t, r.err, tc.want)
			require.Empty(t, r.out)
		})
	}
}
