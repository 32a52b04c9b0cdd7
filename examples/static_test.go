package examples_test

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/internal/netns"
)

// requireLoadable has nft check a ruleset, in a namespace of its own.
func requireLoadable(t *testing.T, ns *netns.Namespace, ruleset string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ruleset.nft")
	require.NoError(t, os.WriteFile(path, []byte(ruleset), 0o600))
	ns.Run(t, "nft", "-c", "-f", path)
}

func TestStaticPrintsATable(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want []string
	}{
		{
			name: "weights are slots",
			args: []string{"10.0.0.1:8080", "10.0.0.2:8080=3"},
			want: []string{
				"table ip nearside {",
				"192.0.2.80 . tcp . 80 . 0 : 10.0.0.1 . 8080",
				"192.0.2.80 . tcp . 80 . 3 : 10.0.0.2 . 8080",
				"192.0.2.80 . tcp . 80 : goto pick-4",
			},
		},
		{
			name: "an IPv6 frontend has a table of its own family",
			args: []string{"-frontend", "[2001:db8::80]:53", "-protocol", "udp", "[2001:db8::1]:5353"},
			want: []string{"table ip6 nearside {", "2001:db8::80 . udp . 53 . 0 : 2001:db8::1 . 5353"},
		},
		{
			name: "without backends the frontend refuses",
			args: []string{"-protocol", "sctp"},
			want: []string{"192.0.2.80 . sctp . 80 : goto refuse"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out := ok(t, "static", tc.args...)
			for _, want := range tc.want {
				require.Contains(t, out, want)
			}
			requireLoadable(t, netns.New(t), out)
		})
	}
}

func TestStaticNamesWhatItCannotUse(t *testing.T) {
	for _, tc := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{name: "a frontend without a port", args: []string{"-frontend", "192.0.2.80"}, status: 2, want: `static: parse frontend "192.0.2.80": expected ADDRESS:PORT`},
		{name: "a protocol nobody speaks", args: []string{"-protocol", "icmp"}, status: 2, want: `static: unknown protocol "icmp": expected tcp, udp or sctp`},
		{name: "a backend without an address", args: []string{"web:80"}, status: 2, want: `static: parse backend "web:80"`},
		{name: "a weight that is no number", args: []string{"10.0.0.1:80=much"}, status: 2, want: `static: parse backend "10.0.0.1:80=much"`},
		{name: "a backend of the other family", args: []string{"[2001:db8::1]:80"}, status: 1, want: "[2001:db8::1]:80"},
		{name: "a weight of nothing", args: []string{"10.0.0.1:80=0"}, status: 1, want: "10.0.0.1:80"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := run(t, "static", tc.args...)
			require.Equal(t, tc.status, r.status)
			require.Contains(t, r.err, tc.want)
			require.Empty(t, r.out)
		})
	}
}

// TestStaticBalancesRealConnections applies the table in a namespace, dials the
// frontend, and then takes the stronger backend away.
func TestStaticBalancesRealConnections(t *testing.T) {
	ns := netns.New(t)
	static := filepath.Join(programs, "static")
	ns.Run(t, "ip", "addr", "add", "10.0.0.1/32", "dev", "lo")
	ns.Run(t, "ip", "addr", "add", "10.0.0.2/32", "dev", "lo")
	ns.Run(t, "ip", "route", "add", "192.0.2.80/32", "dev", "lo") // where nobody listens
	serve(t, ns, "10.0.0.1:8080", "weak")
	serve(t, ns, "10.0.0.2:8080", "strong")

	ns.Run(t, static, "-apply", "10.0.0.1:8080", "10.0.0.2:8080=3")
	rendered := ok(t, "static", "10.0.0.1:8080", "10.0.0.2:8080=3")
	require.Equal(t, rendered, ns.Run(t, "nft", "list", "table", "ip", "nearside"), "the kernel has what was printed")

	const connections = 400
	counts := dial(t, ns, connections)
	require.Equal(t, connections, counts["weak"]+counts["strong"])
	// Of 400 with a chance of 1/4 each, 100 are expected and the standard
	// deviation is 8.7: beyond 6 of them lies one run in 10^9.
	require.InDelta(t, connections/4, counts["weak"], 6*8.7)

	out := ns.Run(t, static, "-apply", "10.0.0.1:8080")
	require.Contains(t, out, "objects changed")
	require.Equal(t, map[string]int{"weak": 20}, dial(t, ns, 20))
	require.Equal(t, "table ip nearside: 0 objects changed\n", ns.Run(t, static, "-apply", "10.0.0.1:8080"))
}

// serve answers each connection to addr in the namespace with a name.
func serve(t *testing.T, ns *netns.Namespace, addr, name string) {
	t.Helper()
	var listener net.Listener
	ns.Must(t, func() (err error) {
		listener, err = net.Listen("tcp", addr)
		return err
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			_, _ = io.WriteString(conn, name) // a client that misses it is not counted
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
}

// dial makes n connections to the frontend and counts who answered.
func dial(t *testing.T, ns *netns.Namespace, n int) map[string]int {
	t.Helper()
	counts := map[string]int{}
	ns.Must(t, func() error {
		for range n {
			conn, err := net.DialTimeout("tcp", "192.0.2.80:80", 5*time.Second)
			if err != nil {
				return err
			}
			name, err := io.ReadAll(conn)
			_ = conn.Close()
			if err != nil {
				return err
			}
			counts[strings.TrimSpace(string(name))]++
		}
		return nil
	})
	return counts
}
