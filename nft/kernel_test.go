package nft

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/internal/netns"
)

// kernel is a namespace with a connection to its nf_tables.
type kernel struct {
	*netns.Namespace
	conn *Conn
}

func newKernel(t testing.TB) *kernel {
	t.Helper()
	k := &kernel{Namespace: netns.New(t)}
	k.Must(t, func() (err error) {
		k.conn, err = Dial()
		return err
	})
	t.Cleanup(func() { _ = k.conn.Close() })
	return k
}

func (k *kernel) apply(t testing.TB, tx *Transaction) {
	t.Helper()
	require.NoError(t, k.conn.Apply(context.Background(), tx))
}

func (k *kernel) read(t testing.TB, f Family) *Ruleset {
	t.Helper()
	r, err := k.conn.ReadBack(context.Background(), f)
	require.NoError(t, err)
	return r
}

func (k *kernel) list(t testing.TB, f Family) string {
	t.Helper()
	return k.Run(t, "nft", "list", "table", f.String(), TableName)
}

func TestKernelListsWhatTextSays(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			k := newKernel(t)
			table := compiled(t, s)
			k.apply(t, table.Changes())
			require.Empty(t, Diff(k.read(t, s.cfg.Family), table.Ruleset()).Text(), "the kernel holds what was sent")
			listed := k.list(t, s.cfg.Family)
			require.Equal(t, table.Ruleset().Text(), listed)

			// nft loads its own listing of our table, and the golden file,
			// and both give the same table again.
			dir := t.TempDir()
			for _, text := range []string{listed, readGolden(t, s.name)} {
				file := filepath.Join(dir, "table.nft")
				require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
				k.Run(t, "nft", "delete", "table", s.cfg.Family.String(), TableName)
				if out, err := k.Command("nft", "-f", file); err != nil {
					require.NotEmpty(t, s.nftAborts, "%s", out)
					require.Contains(t, out, s.nftAborts)
					return
				}
				require.Equal(t, listed, k.list(t, s.cfg.Family))
			}

			// What nft made of the text is to us what we would have made.
			table.Committed()
			require.Empty(t, Diff(k.read(t, s.cfg.Family), table.Ruleset()).Text(), "nft and nearside encode alike")
			require.True(t, k.read(t, s.cfg.Family).Equal(table.Ruleset()))
		})
	}
}

func readGolden(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(goldenPath(name + ".nft"))
	require.NoError(t, err)
	return string(b)
}

func TestReadBackOfNothingIsNil(t *testing.T) {
	k := newKernel(t)
	require.Nil(t, k.read(t, IPv4))
	require.Nil(t, k.read(t, IPv6))
}

func TestCleanupRemovesOurTablesOnly(t *testing.T) {
	k := newKernel(t)
	k.Run(t, "nft", "add", "table", "ip", "other")
	table := compiled(t, scenarios[2])
	k.apply(t, table.Changes())
	removed, err := k.conn.Cleanup(context.Background())
	require.NoError(t, err)
	require.Equal(t, []Family{IPv4}, removed)
	require.Equal(t, "table ip other", strings.TrimSpace(k.Run(t, "nft", "list", "tables")))
	removed, err = k.conn.Cleanup(context.Background())
	require.NoError(t, err)
	require.Empty(t, removed)
}

// requireSameListing compares listings but for the order of chains and sets,
// which nft lists in the order they were made.
func requireSameListing(t *testing.T, want, got string) {
	t.Helper()
	require.Equal(t, blocks(want), blocks(got))
}

func blocks(listing string) []string {
	list := strings.Split(strings.TrimSuffix(listing, "}\n"), "\n\n")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	list[0] = strings.TrimSpace(strings.TrimPrefix(list[0], "table ip nearside {"))
	slices.Sort(list)
	return list
}
