package nft

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The generators draw from few addresses and ports, so that services meet.

func drawAddr(t *rapid.T, f Family, net byte) netip.Addr {
	host := rapid.ByteRange(1, 4).Draw(t, "host")
	if f == IPv6 {
		return netip.AddrFrom16([16]byte{0: 0xfd, 5: net, 15: host})
	}
	return netip.AddrFrom4([4]byte{10, net, 0, host})
}

func drawService(t *rapid.T, f Family, name string) Service {
	s := Service{Name: name, Rank: rapid.Int64Range(0, 2).Draw(t, "rank")}
	for range rapid.IntRange(0, 3).Draw(t, "frontends") {
		fe := Frontend{
			Addr:     netip.AddrPortFrom(drawAddr(t, f, 96), rapid.SampledFrom([]uint16{53, 80, 443}).Draw(t, "port")),
			Protocol: rapid.SampledFrom([]Protocol{TCP, UDP, SCTP}).Draw(t, "protocol"),
			Empty:    rapid.SampledFrom([]Verdict{Reject, Drop}).Draw(t, "empty"),
		}
		fe.Backends = drawBackends(t, f)
		if rapid.IntRange(0, 2).Draw(t, "sticky") == 0 {
			fe.Sticky = &Sticky{
				Group:   rapid.SampledFrom([]string{"http", "dns"}).Draw(t, "group"),
				Timeout: rapid.SampledFrom([]time.Duration{time.Second, 3 * time.Hour}).Draw(t, "timeout"),
			}
		}
		if rapid.Bool().Draw(t, "external") {
			drawExternal(t, f, &fe)
		}
		s.Frontends = append(s.Frontends, fe)
	}
	return s
}

func drawBackends(t *rapid.T, f Family) (backends []Backend) {
	for range rapid.IntRange(0, 5).Draw(t, "backends") {
		addr := drawAddr(t, f, 1)
		backends = append(backends, Backend{
			Addr:   netip.AddrPortFrom(addr, rapid.Uint16Range(8080, 8082).Draw(t, "target")),
			Weight: rapid.IntRange(1, 3).Draw(t, "weight"),
			Local:  addr.As16()[15] == 1,
		})
	}
	return backends
}

// drawExternal makes the frontend one for clients outside.
func drawExternal(t *rapid.T, f Family, fe *Frontend) {
	fe.Kind = External
	if rapid.Bool().Draw(t, "node port") {
		fe.Addr = netip.AddrPortFrom(f.unspecified(), fe.Addr.Port())
	}
	if rapid.Bool().Draw(t, "split") {
		fe.Outside = &Pool{Backends: drawBackends(t, f), Empty: rapid.SampledFrom([]Verdict{Reject, Drop}).Draw(t, "empty outside")}
	}
	for range rapid.IntRange(0, 2).Draw(t, "ranges") {
		fe.Sources = append(fe.Sources, netip.PrefixFrom(drawAddr(t, f, 203), rapid.IntRange(0, 32).Draw(t, "bits")))
	}
}

func drawNodeAddrs(t *rapid.T, f Family) (addrs []netip.Addr) {
	for range rapid.IntRange(0, 2).Draw(t, "node addresses") {
		addrs = append(addrs, drawAddr(t, f, 192))
	}
	return addrs
}

func drawServiceCIDRs(t *rapid.T, f Family) (prefixes []netip.Prefix) {
	for range rapid.IntRange(0, 2).Draw(t, "service CIDRs") {
		prefixes = append(prefixes, netip.PrefixFrom(drawAddr(t, f, 96), rapid.IntRange(1, 32).Draw(t, "bits")))
	}
	return prefixes
}

func drawServices(t *rapid.T, f Family) []Service {
	var services []Service
	for i := range rapid.IntRange(0, 5).Draw(t, "services") {
		services = append(services, drawService(t, f, fmt.Sprintf("ns/service-%d", i)))
	}
	return services
}

func drawConfig(t *rapid.T) Config {
	cfg := Config{Family: rapid.SampledFrom(Families).Draw(t, "family"), MasqueradeAll: rapid.Bool().Draw(t, "all")}
	if rapid.Bool().Draw(t, "detection") {
		cfg.ClusterCIDR = netip.PrefixFrom(drawAddr(t, cfg.Family, 1), rapid.IntRange(0, 32).Draw(t, "bits"))
	}
	return cfg
}

func TestDiffOfEqualStatesIsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		services := drawServices(t, cfg.Family)
		a, _ := Compile(cfg, services)
		b, _ := Compile(cfg, services)
		require.Nil(t, Diff(a.Ruleset(), b.Ruleset()))
		require.True(t, a.Ruleset().Equal(b.Ruleset()))
		require.Equal(t, a.Changes().encode(nil, 1), b.Changes().encode(nil, 1), "the same input gives the same bytes")
		require.Equal(t, a.Ruleset().Text(), b.Ruleset().Text())
	})
}

func TestOrderOfServicesDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		services := drawServices(t, cfg.Family)
		shuffled := rapid.Permutation(services).Draw(t, "shuffled")
		a, _ := Compile(cfg, services)
		b, _ := Compile(cfg, shuffled)
		require.Equal(t, a.Ruleset().Text(), b.Ruleset().Text())
	})
}

// TestIncrementalEqualsFresh changes services one by one and compares with a
// table made of the outcome, slots aside, which keep their places.
func TestIncrementalEqualsFresh(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		table := NewTable(cfg)
		final := map[string]Service{}
		var nodeAddrs []netip.Addr
		var serviceCIDRs []netip.Prefix
		kernel := simulation{}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			name := fmt.Sprintf("ns/service-%d", rapid.IntRange(0, 3).Draw(t, "which"))
			switch rapid.IntRange(0, 6).Draw(t, "what") {
			case 0:
				table.Delete(name)
				delete(final, name)
			case 1:
				nodeAddrs = drawNodeAddrs(t, cfg.Family)
				table.SetNodeAddrs(nodeAddrs)
			case 2:
				serviceCIDRs = drawServiceCIDRs(t, cfg.Family)
				table.SetServiceCIDRs(serviceCIDRs)
			default:
				s := drawService(t, cfg.Family, name)
				table.Set(s)
				final[name] = s
			}
			if rapid.Bool().Draw(t, "commit") {
				kernel.run(t, table.Changes())
				table.Committed()
			}
		}
		var services []Service
		for _, s := range final {
			services = append(services, s)
		}
		fresh, _ := Compile(cfg, services)
		fresh.SetNodeAddrs(nodeAddrs)
		fresh.SetServiceCIDRs(serviceCIDRs)
		require.Equal(t, unordered(fresh.Ruleset()), unordered(table.Ruleset()))

		kernel.run(t, table.Changes())
		table.Committed()
		require.Nil(t, table.Changes())
		require.Equal(t, kernel.of(table.Ruleset()), kernel, "the sum of all transactions is the table")
	})
}

// unordered is a ruleset with the slots of each pool in order.
func unordered(r *Ruleset) string {
	s := r.set(setBackends)
	for key, found := range slotsOf(r.Family, &s.records) {
		for i, slots := range found {
			slices.SortFunc(slots, func(a, b slot) int {
				if c := compareIPs(a.ip, b.ip); c != 0 {
					return c
				}
				return int(a.port) - int(b.port)
			})
			for n, sl := range slots {
				want := make([]byte, s.records.size)
				putBackend(r.Family, want, key, firstSlots[i]+uint32(n), sl)
				for j := range s.records.count() {
					if string(s.records.key(j)) == string(want[:s.records.keyLen]) {
						copy(s.records.at(j), want)
					}
				}
			}
		}
	}
	return r.Text()
}

// simulation carries out transactions on named objects, as strictly as the
// kernel: what is added must be absent, what is deleted must be there.
type simulation map[string]string

func (k simulation) run(t require.TestingT, tx *Transaction) {
	if tx == nil {
		return
	}
	add := func(name, value string) {
		require.NotContains(t, k, name)
		k[name] = value
	}
	del := func(name string) {
		require.Contains(t, k, name)
		delete(k, name)
	}
	for _, op := range tx.ops {
		switch op.kind {
		case opAddTable:
			add("table", "")
		case opAddSet:
			add("set "+op.set.Name, op.set.decl.typeLine)
		case opDeleteSet:
			del("set " + op.set.Name)
			for name := range k {
				if strings.HasPrefix(name, "element "+op.set.Name+" ") {
					delete(k, name)
				}
			}
		case opForget:
			require.Contains(t, k, "set "+op.set.Name)
		case opAddChain:
			add("chain "+op.chain.Name, "")
		case opAddRules:
			require.Empty(t, k["chain "+op.chain.Name])
			k["chain "+op.chain.Name] = rulesText(op.chain)
		case opFlushChain:
			k["chain "+op.chain.Name] = ""
		case opDeleteChain:
			del("chain " + op.chain.Name)
		case opAddElements, opDeleteElements:
			for i := range op.elems.count() {
				name := "element " + op.set.Name + " " + string(op.elems.key(i))
				if op.kind == opDeleteElements {
					del(name)
				} else {
					add(name, string(op.elems.data(i)))
				}
			}
		default:
			t.Errorf("unexpected operation %d", op.kind)
		}
	}
}

func rulesText(c *Chain) (text string) {
	for _, r := range c.Rules {
		text += r.text + "\n"
	}
	return text
}

// of is the simulation that holds a ruleset.
func (simulation) of(r *Ruleset) simulation {
	k := simulation{"table": ""}
	for _, s := range r.Sets {
		k["set "+s.Name] = s.decl.typeLine
		for i := range s.records.count() {
			k["element "+s.Name+" "+string(s.records.key(i))] = string(s.records.data(i))
		}
	}
	for _, c := range r.Chains {
		k["chain "+c.Name] = rulesText(c)
	}
	return k
}

func TestSettleMovesAsFewSlotsAsPossible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) (slots []slot) {
			for range rapid.IntRange(0, 12).Draw(t, name) {
				slots = append(slots, slot{ip: [16]byte{rapid.ByteRange(1, 5).Draw(t, "ip")}, port: 80})
			}
			return slots
		}
		present, wanted := draw("present"), draw("wanted")
		placed := settle(present, wanted)

		counts := map[slot]int{}
		for _, s := range wanted {
			counts[s]++
		}
		for _, s := range placed {
			counts[s]--
		}
		for s, n := range counts {
			require.Zero(t, n, "slot %v", s)
		}
		// Lower bound of moves: a slot can stay only if its endpoint is wanted
		// at least that often.
		if len(present) == 0 {
			return
		}
		kept, available := 0, map[slot]int{}
		for _, s := range wanted {
			available[s]++
		}
		for _, s := range present[:min(len(present), len(wanted))] {
			if available[s] > 0 {
				available[s]--
				kept++
			}
		}
		moved := 0
		for i := range placed {
			if i >= len(present) || placed[i] != present[i] {
				moved++
			}
		}
		require.Equal(t, len(wanted)-kept, moved)
	})
}

// TestKernelDiffGivesTheSameAsFromScratch is the promise of Diff, kept by the
// real kernel: it takes a to b, and what is then there is what b gives in an
// empty kernel.
func TestKernelDiffGivesTheSameAsFromScratch(t *testing.T) {
	k, scratch := newKernel(t), newKernel(t)
	rapid.Check(t, func(rt *rapid.T) {
		cfg := drawConfig(rt)
		k.clean(t)
		scratch.clean(t)
		a, _ := Compile(cfg, drawServices(rt, cfg.Family))
		other := cfg
		if rapid.Bool().Draw(rt, "reconfigure") {
			other = drawConfig(rt)
			other.Family, other.ClusterCIDR = cfg.Family, netip.Prefix{}
		}
		b, _ := Compile(other, drawServices(rt, cfg.Family))
		k.apply(t, a.Changes())
		k.apply(t, Diff(a.Ruleset(), b.Ruleset()))
		scratch.apply(t, b.Changes())
		got, want := k.read(t, cfg.Family), scratch.read(t, cfg.Family)
		require.True(rt, got.Equal(want), "%s", Diff(got, want).Text())
		require.Nil(rt, Diff(got, b.Ruleset()))
	})
}

// TestKernelFollowsChanges sends the transactions of a table that changes step
// by step, and reads back what the table says after each.
func TestKernelFollowsChanges(t *testing.T) {
	k := newKernel(t)
	rapid.Check(t, func(rt *rapid.T) {
		k.clean(t)
		cfg := drawConfig(rt)
		table := NewTable(cfg)
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			for range rapid.IntRange(1, 3).Draw(rt, "changes") {
				name := fmt.Sprintf("ns/service-%d", rapid.IntRange(0, 3).Draw(rt, "which"))
				switch rapid.IntRange(0, 6).Draw(rt, "what") {
				case 0:
					table.Delete(name)
				case 1:
					table.SetNodeAddrs(drawNodeAddrs(rt, cfg.Family))
				case 2:
					table.SetServiceCIDRs(drawServiceCIDRs(rt, cfg.Family))
				default:
					table.Set(drawService(rt, cfg.Family, name))
				}
			}
			require.NoError(rt, k.conn.Apply(context.Background(), table.Changes()))
			table.Committed()
			require.Empty(rt, Diff(k.read(t, cfg.Family), table.Ruleset()).Text())
		}
	})
}
