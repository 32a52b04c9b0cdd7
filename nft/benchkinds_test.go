package nft

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/nearside/nearside/internal/netns"
)

// benchKind measures one change in a table of services of one kind: an endpoint
// replaced in the first of them.
func benchKind(b *testing.B, dress func(i int, s *Service)) {
	netns.RequireRoot(b)
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("services=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			services := benchServices(n)
			for i := range services {
				dress(i, &services[i])
			}
			k := newKernel(b)
			table, problems := Compile(benchConfig, services)
			if len(problems) > 0 {
				b.Fatal(problems[0])
			}
			k.apply(b, table.Changes())
			table.Committed()
			changed := [2]Service{benchService(0, 1), benchService(0, 2)}
			for i := range changed {
				dress(0, &changed[i])
			}
			for i := 0; b.Loop(); i++ {
				table.Set(changed[i%2])
				k.apply(b, table.Changes())
				table.Committed()
			}
		})
	}
}

func BenchmarkNodePort(b *testing.B) {
	benchKind(b, func(i int, s *Service) {
		fe := s.Frontends[0]
		fe.Kind, fe.Addr = External, netip.AddrPortFrom(netip.IPv4Unspecified(), uint16(20_000+i))
		s.Frontends = append(s.Frontends, fe)
	})
}

// BenchmarkSourceRanges: every service has ranges of its own.
func BenchmarkSourceRanges(b *testing.B) {
	benchKind(b, func(i int, s *Service) {
		var ip [4]byte
		binary.BigEndian.PutUint32(ip[:], uint32(172<<24|i<<4))
		fe := s.Frontends[0]
		fe.Kind, fe.Addr = External, netip.AddrPortFrom(netip.AddrFrom4(ip), 80)
		fe.Sources = []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4(ip), 28), netip.MustParsePrefix("203.0.113.0/24")}
		s.Frontends = append(s.Frontends, fe)
	})
}

func BenchmarkAffinity(b *testing.B) {
	benchKind(b, func(_ int, s *Service) {
		s.Frontends[0].Sticky = &Sticky{Group: "http", Timeout: 3 * time.Hour}
	})
}
