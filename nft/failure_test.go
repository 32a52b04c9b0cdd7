package nft

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFailedTransactionNamesWhatFailedAndChangesNothing breaks the kernel's
// table behind the Table's back in every way that an operation can meet, and
// looks at the error, at the kernel, and at the repair.
func TestFailedTransactionNamesWhatFailedAndChangesNothing(t *testing.T) {
	before := []Service{
		svc("demo/web", fe("10.96.0.10:80", TCP, "10.1.1.5:8080", "10.1.2.5:8080")),
		svc("demo/other", fe("10.96.0.20:80", TCP, "10.1.1.6:8080", "10.1.2.6:8080", "10.1.3.6:8080")),
	}
	web := func(backends ...string) Service { return svc("demo/web", fe("10.96.0.10:80", TCP, backends...)) }
	for _, c := range []struct {
		name     string
		sabotage string
		change   func(*Table)
		want     Error
		owner    string
	}{
		{
			name:     "an element to delete is gone",
			sabotage: "delete element ip nearside backends { 10.96.0.10 . tcp . 80 . 1 }",
			change:   func(t *Table) { t.Set(web("10.1.1.5:8080", "10.1.2.7:8080")) },
			want: Error{Op: "delete element of", Object: "ip nearside backends { 10.96.0.10 . tcp . 80 . 1 }", Errno: syscall.ENOENT,
				Frontend: netip.MustParseAddrPort("10.96.0.10:80"), Protocol: TCP},
			owner: "demo/web",
		},
		{
			name:     "an element to add is there with other data",
			sabotage: "add element ip nearside backends { 10.96.0.10 . tcp . 80 . 2 : 192.0.2.1 . 1 }",
			change:   func(t *Table) { t.Set(web("10.1.1.5:8080", "10.1.2.5:8080", "10.1.3.5:8080")) },
			want: Error{Op: "add element of", Object: "ip nearside backends { 10.96.0.10 . tcp . 80 . 2 }", Errno: syscall.EEXIST,
				Frontend: netip.MustParseAddrPort("10.96.0.10:80"), Protocol: TCP},
			owner: "demo/web",
		},
		{
			name:     "a frontend is gone",
			sabotage: "delete element ip nearside frontends { 10.96.0.10 . tcp . 80 }",
			change:   func(t *Table) { t.Delete("demo/web") },
			want: Error{Op: "delete element of", Object: "ip nearside frontends { 10.96.0.10 . tcp . 80 }", Errno: syscall.ENOENT,
				Frontend: netip.MustParseAddrPort("10.96.0.10:80"), Protocol: TCP},
		},
		{
			name:     "a chain to add is there",
			sabotage: "add chain ip nearside pick-1",
			change:   func(t *Table) { t.Set(web("10.1.1.5:8080")) },
			want:     Error{Op: "add chain", Object: "ip nearside pick-1", Errno: syscall.EEXIST},
		},
		{
			name:     "a chain to delete is in use by a foreign rule",
			sabotage: "add chain ip nearside foreign; add rule ip nearside foreign goto pick-3",
			change:   func(t *Table) { t.Delete("demo/other") },
			want:     Error{Op: "delete chain", Object: "ip nearside pick-3", Errno: syscall.EBUSY},
		},
		{
			name:     "the table is gone",
			sabotage: "delete table ip nearside",
			change:   func(t *Table) { t.Set(web("10.1.1.5:8080", "10.1.2.7:8080")) },
			want:     Error{Op: "delete element of", Object: "ip nearside backends", Errno: syscall.ENOENT},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newKernel(t)
			table, problems := Compile(Config{}, before)
			require.Empty(t, problems)
			k.apply(t, table.Changes())
			table.Committed()
			k.Run(t, "nft", c.sabotage)
			held := k.read(t, IPv4)

			c.change(table)
			err := k.conn.Apply(context.Background(), table.Changes())
			var failure *Error
			require.ErrorAs(t, err, &failure)
			require.Equal(t, c.want.Op, failure.Op)
			require.Equal(t, c.want.Object, failure.Object)
			require.Equal(t, c.want.Errno, failure.Errno)
			require.Equal(t, c.want.Frontend, failure.Frontend)
			require.ErrorIs(t, err, ErrOutOfStep)
			require.ErrorIs(t, err, c.want.Errno)
			require.Contains(t, err.Error(), c.want.Object)
			if c.owner != "" {
				owner, ok := table.OwnerOf(failure.Frontend, failure.Protocol)
				require.True(t, ok)
				require.Equal(t, c.owner, owner)
			}

			// Nothing was half done.
			require.True(t, k.read(t, IPv4).Equal(held), "the kernel still holds the old state")

			// The next attempt reads back and repairs.
			k.apply(t, Diff(k.read(t, IPv4), table.Ruleset()))
			table.Committed()
			require.Empty(t, Diff(k.read(t, IPv4), table.Ruleset()).Text())
			requireSameListing(t, table.Ruleset().Text(), k.list(t, IPv4))
		})
	}
}

// TestRepair has foreign hands in the table in ways that no operation of ours
// would meet, and lets Diff take them out again.
func TestRepair(t *testing.T) {
	for _, sabotage := range []string{
		"flush ruleset",
		"add table ip other; delete table ip nearside",
		"flush chain ip nearside prerouting",
		"add rule ip nearside pick-2 counter",
		"insert rule ip nearside prerouting accept",
		"flush map ip nearside backends",
		"add set ip nearside foreign { type ipv4_addr; }",
		"add set ip nearside foreign { type ipv4_addr; }; add rule ip nearside prerouting ip saddr @foreign drop",
		"add chain ip nearside foreign; add rule ip nearside prerouting goto foreign",
		"add chain ip nearside foreign { type filter hook input priority 0; policy accept; }",
		"add element ip nearside frontends { 192.0.2.1 . tcp . 80 : accept }",
		"add element ip nearside frontends { 192.0.2.1 . icmp . 80 : drop }",
		"add element ip nearside cluster-ips { 192.0.2.1 }",
		"delete table ip nearside; add table ip nearside; add set ip nearside backends { type ipv4_addr; }",
		"delete chain ip nearside output; add chain ip nearside output { type nat hook output priority 5; }",
		"delete chain ip nearside output; add chain ip nearside output { type filter hook output priority -100; policy drop; }",
		"add element ip nearside frontends { * : drop }",
		"add element ip nearside node-ips { * }",
		"add map ip nearside evil { type ipv4_addr : verdict; }; add chain ip nearside evil; add element ip nearside evil { 192.0.2.1 : goto evil }",
		"add map ip nearside evil { type ipv4_addr : verdict; }; add element ip nearside evil { 192.0.2.1 : goto pick-2 }; add rule ip nearside refuse ip saddr vmap @evil",
		"add rule ip nearside prerouting ip saddr 192.0.2.1 jump { accept; }",
		"add table ip nearside { flags dormant; }",
		"flush chain ip nearside services; add rule ip nearside services ip daddr . meta l4proto . th dport @frontends",
	} {
		t.Run(sabotage, func(t *testing.T) {
			k := newKernel(t)
			table := compiled(t, scenarios[2])
			table.Set(svc("demo/two", fe("10.96.0.99:80", TCP, "10.1.1.1:1", "10.1.1.1:2")))
			k.apply(t, table.Changes())
			table.Committed()
			k.Run(t, "nft", sabotage)
			require.NotNil(t, Diff(k.read(t, IPv4), table.Ruleset()), "the change is seen")
			k.apply(t, Diff(k.read(t, IPv4), table.Ruleset()))
			requireSameListing(t, table.Ruleset().Text(), k.list(t, IPv4))
			require.Empty(t, Diff(k.read(t, IPv4), table.Ruleset()).Text())
		})
	}
}

func TestAStaleTransactionIsRefused(t *testing.T) {
	k := newKernel(t)
	table := compiled(t, scenarios[2])
	k.apply(t, table.Changes())
	table.Committed()
	k.Run(t, "nft", "flush map ip nearside backends")
	tx := Diff(k.read(t, IPv4), table.Ruleset())
	k.Run(t, "nft", "add table ip other")
	err := k.conn.Apply(context.Background(), tx)
	require.ErrorIs(t, err, ErrStale)
	require.Empty(t, k.read(t, IPv4).set(setBackends).Len())
	k.apply(t, tx.Unconditional())
	require.Empty(t, Diff(k.read(t, IPv4), table.Ruleset()).Text())
}

// TestManyRefusalsStillGiveTheFirst fails ten thousand operations at once: the
// answers may not overflow the socket so that the cause is lost.
func TestManyRefusalsStillGiveTheFirst(t *testing.T) {
	k := newKernel(t)
	table := NewTable(Config{})
	k.apply(t, table.Changes())
	table.Committed()
	tx := &Transaction{Family: IPv4}
	for i := range 10_000 {
		tx.flushChain(&Chain{Name: fmt.Sprintf("absent-%d", i)})
	}
	err := k.conn.Apply(context.Background(), tx)
	var failure *Error
	require.ErrorAs(t, err, &failure)
	require.Equal(t, syscall.ENOENT, failure.Errno)
	require.Equal(t, "ip nearside absent-0", failure.Object)
	require.Positive(t, failure.More)

	// And the connection is fit for use afterwards.
	table.Set(svc("demo/web", fe("10.96.0.10:80", TCP, "10.1.1.5:8080")))
	k.apply(t, table.Changes())
}

// TestALargeTransactionWithASmallReceiveBufferSucceeds: one acknowledgement is
// all that has to fit.
func TestALargeTransactionWithASmallReceiveBufferSucceeds(t *testing.T) {
	k := newKernel(t)
	require.NoError(t, k.conn.batch.SetReadBuffer(1))
	table, problems := Compile(benchConfig, benchServices(5_000))
	require.Empty(t, problems)
	k.apply(t, table.Changes())
	table.Committed()
	require.Nil(t, Diff(k.read(t, IPv4), table.Ruleset()))
}

func TestCancelledContextSendsNothing(t *testing.T) {
	k := newKernel(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, k.conn.Apply(ctx, NewTable(Config{}).Changes()), context.Canceled)
	_, err := k.conn.ReadBack(ctx, IPv4)
	require.ErrorIs(t, err, context.Canceled)
	require.Nil(t, k.read(t, IPv4))
}

// TestWithoutPrivilegeTheErrorSaysWhatIsMissing runs itself as nobody.
func TestWithoutPrivilegeTheErrorSaysWhatIsMissing(t *testing.T) {
	if os.Getenv("NEARSIDE_TEST_UNPRIVILEGED") != "" {
		conn, err := Dial()
		require.NoError(t, err)
		err = conn.Apply(context.Background(), NewTable(Config{}).Changes())
		require.ErrorIs(t, err, ErrPermission)
		require.Contains(t, err.Error(), "run as root or with CAP_NET_ADMIN")
		return
	}
	k := newKernel(t)
	binary, err := os.CreateTemp("", "nft-test-*") //nolint:usetesting // nobody may not enter t.TempDir
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.Remove(binary.Name()) })
	self, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	_, err = binary.Write(self)
	require.NoError(t, errors.Join(err, binary.Chmod(0o755), binary.Close()))
	cmd := exec.Command(binary.Name(), "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "NEARSIDE_TEST_UNPRIVILEGED=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Dir = "/"
	var out []byte
	require.NoError(t, k.Do(func() error {
		out, err = cmd.CombinedOutput()
		return nil
	}))
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name())
	require.NotContains(t, string(out), "SKIP")
}
