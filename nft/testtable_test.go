package nft

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares text with a file under testdata at the root of the
// repository, or writes the file.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := goldenPath(name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "write it with: go test ./nft -update")
	require.Equal(t, string(want), text)
}

func goldenPath(name string) string { return filepath.Join("..", "testdata", "rulesets", name) }

// frontend makes a frontend; backends that begin with "@" are local.
func fe(addr string, proto Protocol, backends ...string) Frontend {
	f := Frontend{Addr: netip.MustParseAddrPort(addr), Protocol: proto}
	for _, b := range backends {
		be := Backend{Weight: 1}
		if b[0] == '@' {
			be.Local, b = true, b[1:]
		}
		if weight, addr, ok := strings.Cut(b, "x"); ok {
			be.Weight, _ = strconv.Atoi(weight)
			b = addr
		}
		be.Addr = netip.MustParseAddrPort(b)
		f.Backends = append(f.Backends, be)
	}
	return f
}

func external(f Frontend, sources ...string) Frontend {
	f.Kind = External
	for _, s := range sources {
		f.Sources = append(f.Sources, netip.MustParsePrefix(s))
	}
	return f
}

// outside makes a frontend that treats clients outside apart.
func outside(f Frontend, empty Verdict, backends ...string) Frontend {
	f = external(f)
	f.Outside = &Pool{Backends: fe("10.0.0.1:1", TCP, backends...).Backends, Empty: empty}
	return f
}

func sticky(f Frontend, group string, timeout time.Duration) Frontend {
	f.Sticky = &Sticky{Group: group, Timeout: timeout}
	return f
}

func dropping(f Frontend) Frontend {
	f.Empty = Drop
	return f
}

func svc(name string, frontends ...Frontend) Service {
	return Service{Name: name, Frontends: frontends}
}

// scenario is a state that golden files, the kernel and nft all have to agree
// on.
type scenario struct {
	name     string
	cfg      Config
	services []Service
	nodes    []netip.Addr
	cidrs    []netip.Prefix
	// nftAborts is what nft 1.0 prints when it aborts on loading the text.
	nftAborts string
}

var scenarios = []scenario{
	{name: "empty", cfg: Config{}},
	{name: "empty-ip6", cfg: Config{Family: IPv6}},
	{
		name: "one-service",
		cfg:  Config{ClusterCIDR: netip.MustParsePrefix("10.1.0.0/16")},
		services: []Service{
			svc("demo/web", fe("10.96.0.10:80", TCP, "@10.1.1.5:8080", "10.1.2.5:8080", "10.1.3.5:8080")),
		},
	},
	{
		name: "no-endpoints",
		cfg:  Config{ClusterCIDR: netip.MustParsePrefix("10.1.0.0/16")},
		services: []Service{
			svc("demo/gone", fe("10.96.0.11:80", TCP)),
			svc("demo/elsewhere", dropping(fe("10.96.0.12:80", TCP))),
		},
	},
	{
		name: "protocols-and-weights",
		cfg:  Config{ClusterCIDR: netip.MustParsePrefix("10.1.0.0/17"), MasqueradeAll: true},
		services: []Service{
			svc("demo/dns", fe("10.96.0.10:53", UDP, "10.1.1.5:5353", "10.1.2.5:5353"), fe("10.96.0.10:53", TCP, "10.1.1.5:5353", "10.1.2.5:5353")),
			svc("demo/signal", fe("10.96.1.10:443", SCTP, "3x10.1.1.6:9443", "@1x10.1.2.6:9443")),
			svc("demo/many", fe("10.96.2.1:65535", TCP, "300x10.1.1.7:1")),
		},
	},
	{
		name: "ip6",
		cfg:  Config{Family: IPv6, ClusterCIDR: netip.MustParsePrefix("fd00:10:1::/48")},
		services: []Service{
			svc("demo/web", fe("[fd00:10:96::10]:80", TCP, "@[fd00:10:1:1::5]:8080", "[fd00:10:1:2::5]:8080")),
			svc("demo/dns", fe("[fd00:10:96::10]:53", UDP, "[fd00:10:1:1::5]:5353"), fe("[fd00:10:96::b]:53", SCTP, "[fd00:10:1:1::5]:5353")),
			svc("demo/gone", fe("[fd00:10:96::11]:80", TCP), dropping(fe("[fd00:10:96::11]:81", UDP))),
		},
	},
	{
		name:     "single-pod-range",
		cfg:      Config{ClusterCIDR: netip.MustParsePrefix("10.1.2.3/32")},
		services: []Service{svc("demo/web", fe("10.96.0.10:80", TCP, "@10.1.1.5:8080"))},
	},
	{
		name: "external",
		cfg:  Config{ClusterCIDR: netip.MustParsePrefix("10.1.0.0/16")},
		services: []Service{
			svc("demo/web",
				fe("10.96.0.10:80", TCP, "@10.1.1.5:8080", "10.1.2.5:8080"),
				external(fe("0.0.0.0:30080", TCP, "@10.1.1.5:8080", "10.1.2.5:8080")),
				external(fe("198.51.100.10:80", TCP, "@10.1.1.5:8080", "10.1.2.5:8080"), "203.0.113.0/24", "192.0.2.1/32", "172.16.0.0/12"),
				external(fe("198.51.100.11:80", TCP, "@10.1.1.5:8080", "10.1.2.5:8080")),
			),
			svc("demo/local",
				fe("10.96.0.11:80", UDP, "@10.1.1.6:8080", "10.1.2.6:8080"),
				outside(fe("0.0.0.0:30081", UDP, "@10.1.1.6:8080", "10.1.2.6:8080"), Drop, "@10.1.1.6:8080"),
				outside(external(fe("198.51.100.12:80", UDP, "@10.1.1.6:8080", "10.1.2.6:8080"), "203.0.113.0/24"), Drop, "@10.1.1.6:8080"),
			),
			svc("demo/elsewhere", outside(fe("198.51.100.13:80", SCTP, "10.1.2.7:9000"), Drop)),
			svc("demo/gone", external(fe("198.51.100.14:80", TCP)), outside(fe("0.0.0.0:30082", TCP), Reject)),
			svc("demo/nobody", external(fe("198.51.100.15:80", TCP, "10.1.2.7:9000"), "fd00::/8")),
		},
		nodes: []netip.Addr{netip.MustParseAddr("192.0.2.11"), netip.MustParseAddr("192.0.2.111"), netip.MustParseAddr("fd00::1")},
		cidrs: []netip.Prefix{netip.MustParsePrefix("10.96.0.0/12"), netip.MustParsePrefix("fd00:10:96::/112"), netip.MustParsePrefix("10.64.0.0/16")},
	},
	{
		name: "external-ip6",
		cfg:  Config{Family: IPv6, PodInterfacePrefix: "cali"},
		services: []Service{
			svc("demo/web",
				fe("[fd00:10:96::10]:80", TCP, "@[fd00:10:1:1::5]:8080"),
				external(fe("[::]:30080", TCP, "@[fd00:10:1:1::5]:8080")),
				external(fe("[2001:db8::10]:80", TCP, "@[fd00:10:1:1::5]:8080"), "2001:db8:1::/48", "2001:db8:2::8/125", "10.0.0.0/8"),
			),
			svc("demo/local", outside(fe("[::]:30081", UDP, "[fd00:10:1:2::5]:8080"), Drop)),
		},
		nodes: []netip.Addr{netip.MustParseAddr("fd00::1"), netip.MustParseAddr("192.0.2.1")},
		cidrs: []netip.Prefix{netip.MustParsePrefix("fd00:10:96::/112")},
	},
	{
		name: "sticky",
		cfg:  Config{ClusterCIDR: netip.MustParsePrefix("10.1.0.0/16")},
		services: []Service{
			svc("demo/session",
				sticky(fe("10.96.0.10:80", TCP, "@10.1.1.5:8080", "10.1.2.5:8080"), "http", 3*time.Hour),
				sticky(outside(fe("0.0.0.0:30080", TCP, "@10.1.1.5:8080", "10.1.2.5:8080"), Drop, "@10.1.1.5:8080"), "http", 3*time.Hour),
				sticky(external(fe("198.51.100.10:80", TCP, "@10.1.1.5:8080", "10.1.2.5:8080"), "203.0.113.0/24"), "http", 3*time.Hour),
				sticky(fe("10.96.0.10:53", UDP, "10.1.2.5:5353"), "dns", 90*time.Second),
				fe("10.96.0.10:443", TCP, "10.1.2.5:8443"),
			),
			svc("demo/empty", sticky(fe("10.96.0.11:80", TCP), "http", time.Second)),
		},
	},
	{
		name: "sticky-ip6",
		cfg:  Config{Family: IPv6},
		// It lists the rule that learns a client, but runs out of registers on
		// an IPv6 address and a port as data of an update.
		nftAborts: "Assertion `dreg < ctx->reg_low' failed",
		services: []Service{
			svc("demo/session", sticky(fe("[fd00:10:96::10]:80", SCTP, "@[fd00:10:1:1::5]:8080", "[fd00:10:1:2::5]:8080"), "http", 86400*time.Second)),
		},
	},
	{
		name:     "pod-interface",
		cfg:      Config{PodInterface: "cbr0", MasqueradeAll: true},
		services: []Service{svc("demo/local", outside(fe("198.51.100.12:80", TCP, "10.1.2.6:8080"), Drop))},
	},
	{
		name:     "everything-is-a-pod",
		cfg:      Config{ClusterCIDR: netip.MustParsePrefix("0.0.0.0/0")},
		services: []Service{svc("demo/web", fe("10.96.0.10:80", TCP, "10.1.1.5:8080"))},
	},
}

func compiled(t testing.TB, s scenario) *Table {
	t.Helper()
	table, problems := Compile(s.cfg, s.services)
	require.Empty(t, problems)
	table.SetNodeAddrs(s.nodes)
	require.Empty(t, table.SetServiceCIDRs(s.cidrs))
	return table
}

var processStart = time.Now()

// nanotime is a monotonic clock for ratios within one run.
func nanotime() int64 { return int64(time.Since(processStart)) }
