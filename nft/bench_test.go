package nft

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"

	"github.com/nearside/nearside/internal/netns"
)

const endpointsPerService = 10

var benchSizes = []int{1_000, 10_000, 50_000}

// benchServices makes services of ten endpoints each.
func benchServices(n int) []Service {
	services := make([]Service, n)
	for i := range services {
		services[i] = benchService(i, 0)
	}
	return services
}

// benchService makes the i-th service; its first endpoint is the one of that
// revision.
func benchService(i, revision int) Service {
	var ip [4]byte
	backends := make([]Backend, endpointsPerService)
	for e := range backends {
		binary.BigEndian.PutUint32(ip[:], uint32(10<<24|1<<23|(i*endpointsPerService+e)))
		port := uint16(8080)
		if e == 0 {
			port += uint16(revision % 1000)
		}
		backends[e] = Backend{Addr: netip.AddrPortFrom(netip.AddrFrom4(ip), port), Weight: 1, Local: e == 3}
	}
	binary.BigEndian.PutUint32(ip[:], uint32(10<<24|(i+1)))
	return Service{Name: fmt.Sprintf("bench/service-%05d", i), Frontends: []Frontend{
		{Port: "http", Addr: netip.AddrPortFrom(netip.AddrFrom4(ip), 80), Protocol: TCP, Backends: backends},
	}}
}

var benchConfig = Config{ClusterCIDR: netip.MustParsePrefix("10.128.0.0/9")}

func eachSize(b *testing.B, f func(b *testing.B, services []Service)) {
	for _, n := range benchSizes {
		services := benchServices(n)
		b.Run(fmt.Sprintf("services=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			f(b, services)
		})
	}
}

// BenchmarkCompile compiles all services from nothing.
func BenchmarkCompile(b *testing.B) {
	eachSize(b, func(b *testing.B, services []Service) {
		for b.Loop() {
			table, problems := Compile(benchConfig, services)
			if len(problems) > 0 || table.Frontends() != len(services) {
				b.Fatal(problems)
			}
		}
	})
}

// BenchmarkDiffOne computes the transaction for one replaced endpoint.
func BenchmarkDiffOne(b *testing.B) {
	eachSize(b, func(b *testing.B, services []Service) {
		table, _ := Compile(benchConfig, services)
		table.Committed()
		changed := [2]Service{benchService(0, 1), benchService(0, 2)}
		for i := 0; b.Loop(); i++ {
			table.Set(changed[i%2])
			if tx := table.Changes(); tx.Size() != 2 {
				b.Fatal(tx.Text())
			}
			table.Committed()
		}
	})
}

// BenchmarkEncode encodes the transaction that makes the whole table.
func BenchmarkEncode(b *testing.B) {
	eachSize(b, func(b *testing.B, services []Service) {
		table, _ := Compile(benchConfig, services)
		tx := table.Changes()
		var buf []byte
		for b.Loop() {
			buf = tx.encode(buf, 1)
		}
		b.SetBytes(int64(len(buf)))
	})
}

// BenchmarkDiffAll compares a whole table with what was read back.
func BenchmarkDiffAll(b *testing.B) {
	eachSize(b, func(b *testing.B, services []Service) {
		table, _ := Compile(benchConfig, services)
		from := table.Ruleset()
		table.Set(benchService(0, 1))
		to := table.Ruleset()
		for b.Loop() {
			if tx := Diff(from, to); tx.Size() != 2 {
				b.Fatal(tx.Text())
			}
		}
	})
}

// BenchmarkApplyOne replaces one endpoint in the kernel: compile, diff, encode
// and commit.
func BenchmarkApplyOne(b *testing.B) {
	netns.RequireRoot(b)
	eachSize(b, func(b *testing.B, services []Service) {
		k := newKernel(b)
		table, _ := Compile(benchConfig, services)
		k.apply(b, table.Changes())
		table.Committed()
		changed := [2]Service{benchService(0, 1), benchService(0, 2)}
		for i := 0; b.Loop(); i++ {
			table.Set(changed[i%2])
			k.apply(b, table.Changes())
			table.Committed()
		}
	})
}

// BenchmarkApplyAll brings a whole table from services in memory into an empty
// kernel. Beside it stands the limit: the kernel's time for the same bytes,
// prepared in advance, in alternating rounds.
func BenchmarkApplyAll(b *testing.B) {
	netns.RequireRoot(b)
	eachSize(b, func(b *testing.B, services []Service) {
		table, _ := Compile(benchConfig, services)
		k := newKernel(b)
		bytes := table.Changes().encode(nil, 1)
		b.SetBytes(int64(len(bytes)))
		var bare, whole int64
		for b.Loop() {
			start := nanotime()
			if err := k.conn.send(bytes); err != nil {
				b.Fatal(err)
			}
			bare += nanotime() - start
			b.StopTimer()
			k.clean(b)
			b.StartTimer()

			start = nanotime()
			table, _ := Compile(benchConfig, services)
			k.apply(b, table.Changes())
			whole += nanotime() - start
			b.StopTimer()
			k.clean(b)
			b.StartTimer()
		}
		b.ReportMetric(float64(bare)/float64(b.N)/1e6, "bare-ms/op")
		b.ReportMetric(float64(whole)/float64(b.N)/1e6, "whole-ms/op")
		b.ReportMetric(float64(whole)/float64(bare), "whole/bare")
		b.ReportMetric(0, "ns/op")
	})
}

func (k *kernel) clean(tb testing.TB) {
	if _, err := k.conn.Cleanup(context.Background()); err != nil {
		tb.Fatal(err)
	}
}
