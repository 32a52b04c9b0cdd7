package nft

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clientsOf lists the map of clients of a table that has one memory.
func clientsOf(t *testing.T, k *kernel, table *Table) (name, listing string) {
	t.Helper()
	for memory := range table.memories {
		name = clientsPrefix + memory
	}
	require.NotEmpty(t, name)
	return name, k.Run(t, "nft", "list", "map", table.Family().String(), TableName, name)
}

func TestALostEndpointIsForgottenWithTheChangeAndNobodyElseIs(t *testing.T) {
	for _, c := range []struct {
		family                 Family
		frontend               string
		stays, leaves, another string
		clients                func(i int) string
	}{
		{IPv4, "10.96.0.10:80", "10.1.1.5:8080", "10.1.2.5:8080", "10.1.3.5:8080",
			func(i int) string { return fmt.Sprintf("10.7.%d.%d", i/250, i%250+1) }},
		{IPv6, "[fd00:10:96::10]:80", "[fd00:10:1:1::5]:8080", "[fd00:10:1:2::5]:8080", "[fd00:10:1:3::5]:8080",
			func(i int) string { return fmt.Sprintf("fd00:7::%x", i+1) }},
	} {
		t.Run(c.family.String(), func(t *testing.T) {
			k := newKernel(t)
			table := NewTable(Config{Family: c.family})
			table.Set(svc("demo/session", sticky(fe(c.frontend, TCP, c.stays, c.leaves), "http", time.Hour)))
			k.apply(t, table.Changes())
			table.Committed()

			// A thousand clients, every other one at each endpoint; some are
			// about to time out while they are being forgotten.
			name, _ := clientsOf(t, k, table)
			target := func(addr string) string {
				i := strings.LastIndex(addr, ":")
				return strings.Trim(addr[:i], "[]") + " . " + addr[i+1:]
			}
			var elements []string
			for i := range 1000 {
				at, timeout := c.stays, "1h"
				if i%2 == 1 {
					at, timeout = c.leaves, []string{"1h", "300ms", "200ms"}[i/2%3]
				}
				elements = append(elements, fmt.Sprintf("%s timeout %s : %s", c.clients(i), timeout, target(at)))
			}
			k.Run(t, "nft", "add", "element", c.family.String(), TableName, name, "{ "+strings.Join(elements, ", ")+" }")

			table.Set(svc("demo/session", sticky(fe(c.frontend, TCP, c.stays, c.another), "http", time.Hour)))
			k.apply(t, table.Changes())
			table.Committed()
			_, listing := clientsOf(t, k, table)
			require.NotContains(t, listing, target(c.leaves))
			require.Equal(t, 500, strings.Count(listing, target(c.stays)), "clients of the other endpoint are kept")

			// After a restart the same holds for what happened meanwhile.
			next := NewTable(Config{Family: c.family})
			kernel := k.read(t, c.family)
			next.Adopt(kernel)
			next.Set(svc("demo/session", sticky(fe(c.frontend, TCP, c.another), "http", time.Hour)))
			k.apply(t, Diff(kernel, next.Ruleset()))
			next.Committed()
			_, listing = clientsOf(t, k, next)
			require.NotContains(t, listing, target(c.stays))

			// And without change it keeps everything.
			k.Run(t, "nft", "add", "element", c.family.String(), TableName, name,
				fmt.Sprintf("{ %s timeout 1h : %s }", c.clients(1), target(c.another)))
			require.Nil(t, Diff(k.read(t, c.family), next.Ruleset()))
			_, listing = clientsOf(t, k, next)
			require.Contains(t, listing, target(c.another))

			next.Delete("demo/session")
			k.apply(t, next.Changes())
			next.Committed()
			require.NotContains(t, k.list(t, c.family), clientsPrefix)
		})
	}
}

func TestStickyTimeoutsAreChecked(t *testing.T) {
	for _, timeout := range []time.Duration{0, -time.Hour, time.Millisecond, maxTimeout + 1} {
		problems := NewTable(Config{}).Set(svc("demo/web", sticky(fe("10.96.0.1:80", TCP, "10.1.1.1:80"), "http", timeout)))
		require.Len(t, problems, 1)
		require.Contains(t, problems[0].Reason, "between 1s and")
	}
}

func TestAFailedTransactionLeavesNoPreparation(t *testing.T) {
	k := newKernel(t)
	table, _ := Compile(Config{}, []Service{svc("demo/web", fe("10.96.0.10:80", TCP, "10.1.1.5:8080"))})
	k.apply(t, table.Changes())
	table.Committed()
	k.Run(t, "nft", "delete element ip nearside frontends { 10.96.0.10 . tcp . 80 }")
	held := k.read(t, IPv4)
	table.Set(svc("demo/web", sticky(fe("10.96.0.10:80", TCP, "10.1.1.5:8080", "10.1.1.6:8080"), "http", time.Hour)))
	tx := table.Changes()
	first, rest := tx.split()
	require.NotNil(t, first)
	require.Equal(t, tx.Size(), first.Size()+rest.Size())
	require.ErrorIs(t, k.conn.Apply(t.Context(), tx), ErrOutOfStep)
	require.True(t, k.read(t, IPv4).Equal(held))
	k.apply(t, Diff(k.read(t, IPv4), table.Ruleset()))
	require.Empty(t, Diff(k.read(t, IPv4), table.Ruleset()).Text())
}
