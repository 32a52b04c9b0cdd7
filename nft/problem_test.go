package nft

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatCannotBeUsedCostsOnlyItself(t *testing.T) {
	good := fe("10.96.0.1:80", TCP, "10.1.1.5:8080")
	bad := func(change func(*Frontend)) Frontend {
		f := fe("10.96.0.2:80", TCP, "10.1.1.5:8080", "10.1.2.5:8080")
		change(&f)
		return f
	}
	for _, c := range []struct {
		name     string
		frontend Frontend
		want     string // in the problem
		kept     int    // slots of the frontend that stay
	}{
		{name: "an invalid frontend address", frontend: bad(func(f *Frontend) { f.Addr = netip.AddrPort{} }), want: "not valid"},
		{name: "a frontend of the other family", frontend: bad(func(f *Frontend) { f.Addr = netip.MustParseAddrPort("[fd00::1]:80") }), want: "family ip"},
		{name: "an IPv4 address mapped into IPv6", frontend: bad(func(f *Frontend) { f.Addr = netip.MustParseAddrPort("[::ffff:10.96.0.2]:80") }), want: "mapped into IPv6"},
		{name: "an address with a zone", frontend: bad(func(f *Frontend) { f.Addr = netip.MustParseAddrPort("[fe80::1%eth0]:80") }), want: "zone"},
		{name: "the unspecified address", frontend: bad(func(f *Frontend) { f.Addr = netip.MustParseAddrPort("0.0.0.0:80") }), want: "unspecified"},
		{name: "a multicast address", frontend: bad(func(f *Frontend) { f.Addr = netip.MustParseAddrPort("224.0.0.1:80") }), want: "multicast"},
		{name: "port 0", frontend: bad(func(f *Frontend) { f.Addr = netip.MustParseAddrPort("10.96.0.2:0") }), want: "port 0"},
		{name: "an unknown protocol", frontend: bad(func(f *Frontend) { f.Protocol = 1 }), want: "protocol 1"},
		{name: "a frontend that the service has already", frontend: bad(func(f *Frontend) { f.Addr = good.Addr }), want: "twice"},
		{name: "an invalid backend", frontend: bad(func(f *Frontend) { f.Backends[0].Addr = netip.AddrPort{} }), want: "not valid", kept: 1},
		{name: "a backend of the other family", frontend: bad(func(f *Frontend) { f.Backends[0].Addr = netip.MustParseAddrPort("[fd00::1]:80") }), want: "family ip", kept: 1},
		{name: "a backend without port", frontend: bad(func(f *Frontend) { f.Backends[1].Addr = netip.MustParseAddrPort("10.1.2.5:0") }), want: "port 0", kept: 1},
		{name: "a backend that is there already", frontend: bad(func(f *Frontend) { f.Backends[1] = f.Backends[0] }), want: "twice", kept: 1},
		{name: "a weight of zero", frontend: bad(func(f *Frontend) { f.Backends[1].Weight = 0 }), want: "weight 0", kept: 1},
		{name: "a negative weight", frontend: bad(func(f *Frontend) { f.Backends[1].Weight = -5 }), want: "weight -5", kept: 1},
		{name: "weights beyond the limit", frontend: bad(func(f *Frontend) { f.Backends[0].Weight = MaxSlots }), want: "more than 65535", kept: MaxSlots},
		{name: "a weight that would overflow", frontend: bad(func(f *Frontend) { f.Backends[0].Weight = 1 << 62; f.Backends[1].Weight = 1 << 62 }), want: "more than 65535"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.frontend.Port = "http"
			table := NewTable(Config{})
			problems := table.Set(svc("demo/web", good, c.frontend))
			require.NotEmpty(t, problems)
			p := problems[0]
			require.Equal(t, "demo/web", p.Service)
			require.Equal(t, "http", p.Port)
			require.Contains(t, p.Reason, c.want)
			require.Contains(t, p.String(), `service "demo/web:http"`)
			require.Len(t, table.frontends[makeKey(good.Addr, TCP)].pools[0], 1, "the good frontend is served")
			if c.kept > 0 {
				require.Len(t, table.frontends[makeKey(c.frontend.Addr, TCP)].pools[0], c.kept)
			}
		})
	}
}

func TestTwoServicesClaimOneAddress(t *testing.T) {
	claim := func(name string, rank int64, backend string) Service {
		s := svc(name, fe("10.96.0.1:80", TCP, backend))
		s.Rank = rank
		return s
	}
	owner := func(table *Table) string {
		name, _ := table.OwnerOf(netip.MustParseAddrPort("10.96.0.1:80"), TCP)
		return name
	}
	table := NewTable(Config{})
	require.Empty(t, table.Set(claim("demo/b", 5, "10.1.1.2:80")))

	problems := table.Set(claim("demo/c", 5, "10.1.1.3:80"))
	require.Len(t, problems, 1, "the lesser name of two equals wins")
	require.Equal(t, "demo/c", problems[0].Service)
	require.Equal(t, "demo/b", owner(table))

	problems = table.Set(claim("demo/z", 1, "10.1.1.4:80"))
	require.Len(t, problems, 1, "the lower rank wins, and the loser is named")
	require.Equal(t, "demo/b", problems[0].Service)
	require.Contains(t, problems[0].Reason, `"demo/z"`)
	require.Equal(t, "demo/z", owner(table))

	table.Set(claim("demo/z", 9, "10.1.1.4:80"))
	require.Equal(t, "demo/b", owner(table), "a rank that rises gives the address up")

	table.Delete("demo/b")
	require.Equal(t, "demo/c", owner(table), "the next in line takes over")
	require.Contains(t, table.Ruleset().Text(), "10.96.0.1 . tcp . 80 . 0 : 10.1.1.3 . 80")

	table.Delete("demo/c")
	require.Equal(t, "demo/z", owner(table))
	require.Empty(t, table.contested)

	table.Delete("demo/z")
	table.Delete("demo/z")
	require.Zero(t, table.Frontends())
	require.Equal(t, NewTable(Config{}).Ruleset().Text(), table.Ruleset().Text(), "nothing stays behind")
}

func TestNothingStaysBehindADeletedService(t *testing.T) {
	table := NewTable(Config{})
	table.Committed()
	for i := range 100 {
		table.Set(benchService(i, 0))
	}
	for i := range 100 {
		table.Delete(benchService(i, 0).Name)
	}
	require.Nil(t, table.Changes(), "what came and went is no change")
	require.Empty(t, table.services)
	require.Empty(t, table.frontends)
	require.Empty(t, table.clusterIPs)
	require.Empty(t, table.hairpins)
	require.Empty(t, table.programs)
}

func TestAdoptKeepsTheSlotsOfBeforeTheRestart(t *testing.T) {
	first := NewTable(Config{})
	first.Set(svc("demo/web", fe("10.96.0.1:80", TCP, "10.1.1.1:80", "10.1.1.2:80", "10.1.1.3:80")))
	first.Committed()
	first.Set(svc("demo/web", fe("10.96.0.1:80", TCP, "10.1.1.2:80", "10.1.1.3:80", "10.1.1.4:80")))
	first.Committed()
	require.Contains(t, first.Ruleset().Text(), "80 . 0 : 10.1.1.4 . 80", "the newcomer has the slot of the one that left")

	second := NewTable(Config{})
	second.Adopt(first.Ruleset())
	second.Set(svc("demo/web", fe("10.96.0.1:80", TCP, "10.1.1.2:80", "10.1.1.3:80", "10.1.1.4:80")))
	require.Nil(t, Diff(first.Ruleset(), second.Ruleset()))
}

func TestConfigIsChecked(t *testing.T) {
	require.NoError(t, Config{}.Validate())
	require.ErrorContains(t, Config{Family: 7}.Validate(), "neither IPv4 nor IPv6")
	require.ErrorContains(t, Config{ClusterCIDR: netip.MustParsePrefix("fd00::/8")}.Validate(), "does not belong")
	require.ErrorContains(t, Config{ClusterCIDR: netip.PrefixFrom(netip.MustParseAddr("10.0.0.1"), 99)}.Validate(), "not valid")
	require.Panics(t, func() { NewTable(Config{Family: 7}) })
}

func TestTransactionTextReadsAsNftCommands(t *testing.T) {
	table := NewTable(Config{})
	table.Committed()
	table.Set(svc("demo/web", fe("10.96.0.1:80", TCP, "@10.1.1.1:8080")))
	require.Equal(t, strings.TrimLeft(`
add chain ip nearside pick-1
add rule ip nearside pick-1 dnat ip to ip daddr . meta l4proto . th dport . numgen random mod 1 map @backends
add rule ip nearside pick-1 drop
add element ip nearside backends { 10.96.0.1 . tcp . 80 . 0 : 10.1.1.1 . 8080 }
add element ip nearside frontends { 10.96.0.1 . tcp . 80 : goto pick-1 }
add element ip nearside cluster-ips { 10.96.0.1 }
add element ip nearside hairpin { 10.1.1.1 . 10.1.1.1 }
`, "\n"), table.Changes().Text())
	table.Committed()
	table.Delete("demo/web")
	require.Equal(t, strings.TrimLeft(`
delete element ip nearside backends { 10.96.0.1 . tcp . 80 . 0 }
delete element ip nearside frontends { 10.96.0.1 . tcp . 80 }
delete element ip nearside cluster-ips { 10.96.0.1 }
delete element ip nearside hairpin { 10.1.1.1 . 10.1.1.1 }
flush chain ip nearside pick-1
delete chain ip nearside pick-1
`, "\n"), table.Changes().Text())
}

// TestAClusterIPBelongsToTheServiceThatWasGivenIt: whoever may name external
// addresses cannot take a ClusterIP away, however old the Service.
func TestAClusterIPBelongsToTheServiceThatWasGivenIt(t *testing.T) {
	thief := svc("tenant/thief", external(fe("10.96.0.1:443", TCP, "10.1.1.2:80")))
	bank := svc("bank/ledger", fe("10.96.0.1:443", TCP, "10.1.1.3:80"))
	thief.Rank, bank.Rank = 1, 2
	for _, order := range [][]Service{{thief, bank}, {bank, thief}} {
		table, problems := Compile(Config{}, order)
		require.Len(t, problems, 1)
		require.Equal(t, "tenant/thief", problems[0].Service)
		owner, _ := table.OwnerOf(netip.MustParseAddrPort("10.96.0.1:443"), TCP)
		require.Equal(t, "bank/ledger", owner)
		table.Delete("bank/ledger")
		owner, _ = table.OwnerOf(netip.MustParseAddrPort("10.96.0.1:443"), TCP)
		require.Equal(t, "tenant/thief", owner, "an address that nobody was given is free to name")
	}
}

// TestManyFrontendsOfOneService: a Service may have a thousand external
// addresses on a hundred ports; each counts once.
func TestManyFrontendsOfOneService(t *testing.T) {
	var s Service
	s.Name = "demo/wide"
	for port := range 40 {
		for host := range 200 {
			s.Frontends = append(s.Frontends, external(fe(fmt.Sprintf("198.51.100.%d:%d", host+1, port+1), TCP, "10.1.1.1:80")))
		}
	}
	s.Frontends = append(s.Frontends, s.Frontends[0], s.Frontends[8000-1])
	table := NewTable(Config{})
	require.Len(t, table.Set(s), 2, "only what is there twice is left out")
	require.Equal(t, 8000, table.Frontends())
	table.Committed()
	s.Frontends = s.Frontends[1:8000]
	require.Empty(t, table.Set(s))
	require.Equal(t, 7999, table.Frontends())
	require.Equal(t, 3, table.Changes().Size(), "one frontend, its slot and what follows translation")
}

// TestNamesMadeOfForeignTextCannotBeFound: these two lists of sources had one
// name when names had 48 bits.
func TestNamesMadeOfForeignTextCannotBeFound(t *testing.T) {
	a := svc("demo/a", external(fe("198.51.100.1:80", TCP, "10.1.1.1:80"), "11.229.214.41/32", "12.0.0.0/32"))
	b := svc("demo/b", external(fe("198.51.100.2:80", TCP, "10.1.1.1:80"), "11.92.156.84/32", "12.0.0.2/32"))
	k := newKernel(t)
	table, problems := Compile(Config{}, []Service{a, b})
	require.Empty(t, problems)
	k.apply(t, table.Changes())
	require.Empty(t, Diff(k.read(t, IPv4), table.Ruleset()).Text())
	longest := program{kind: programSticky, memory: hashName("x"), slots: MaxSlots, node: true}.chainName()
	require.LessOrEqual(t, len(longest), maxChainName)
}
