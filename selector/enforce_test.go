package selector_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/selector"
)

// choose answers with the addresses, each with weight 1.
func choose(ips ...string) selector.Selection {
	var sel selector.Selection
	for _, ip := range ips {
		sel.Backends = append(sel.Backends, selector.Backend{Addr: addr(ip), Weight: 1})
	}
	sel.Reason = selector.Reason{Code: "Mine", Text: "a wish of its own"}
	return sel
}

func weigh(ip string, weight int) selector.Selection {
	sel := choose(ip)
	sel.Backends[0].Weight = weight
	return sel
}

func TestEnforceReplacesAnswersThatBreakARule(t *testing.T) {
	cluster := request(ready("10.1.1.1", "node-a"), draining("10.1.1.2", "node-a"), unready("10.1.1.3", "node-a"),
		gone("10.1.1.4", "node-a"), ready("10.1.2.1", "node-b"), ready("10.1.2.2", ""))
	local := with(cluster, func(r *selector.Request) { r.Port.Internal = selector.PolicyLocal })
	heavy := choose("10.1.1.1", "10.1.2.1")
	heavy.Backends[0].Weight, heavy.Backends[1].Weight = selector.MaxWeight, 1

	for _, tc := range []struct {
		name   string
		given  selector.Request
		answer selector.Selection
		wrong  string
	}{
		{
			name: "an address that is no endpoint", given: cluster, answer: choose("10.1.1.1", "192.0.2.1"),
			wrong: "chose 192.0.2.1:8080, which is no endpoint of the service port",
		},
		{
			name: "an address between two endpoints", given: cluster, answer: choose("10.1.1.200"),
			wrong: "chose 10.1.1.200:8080, which is no endpoint of the service port",
		},
		{
			name: "an endpoint that is not ready", given: cluster, answer: choose("10.1.1.3"),
			wrong: "chose 10.1.1.3:8080, which is not ready",
		},
		{
			name: "an endpoint that serves no more", given: cluster, answer: choose("10.1.1.4"),
			wrong: "chose 10.1.1.4:8080, which is terminating and not serving",
		},
		{
			name: "a terminating endpoint beside ready ones", given: cluster, answer: choose("10.1.1.2"),
			wrong: "chose 10.1.1.2:8080, which is terminating although ready endpoints exist",
		},
		{
			name: "a terminating endpoint beside a ready one on this node", given: local, answer: choose("10.1.1.1", "10.1.1.2"),
			wrong: "chose 10.1.1.2:8080, which is terminating although ready endpoints exist",
		},
		{
			name: "another node under policy Local", given: local, answer: choose("10.1.1.1", "10.1.2.1"),
			wrong: "chose 10.1.2.1:8080, which is not on this node although the traffic policy is Local",
		},
		{
			name: "an unknown node under policy Local", given: local, answer: choose("10.1.2.2"),
			wrong: "chose 10.1.2.2:8080, which is not on this node although the traffic policy is Local",
		},
		{
			name: "one endpoint twice", given: cluster, answer: choose("10.1.2.1", "10.1.1.1", "10.1.2.1"),
			wrong: "chose 10.1.2.1:8080 twice",
		},
		{
			name: "a weight of zero", given: cluster, answer: weigh("10.1.1.1", 0),
			wrong: "gave 10.1.1.1:8080 weight 0, which is not between 1 and 65535",
		},
		{
			name: "a weight above the limit", given: cluster, answer: weigh("10.1.1.1", selector.MaxWeight+1),
			wrong: "gave 10.1.1.1:8080 weight 65536, which is not between 1 and 65535",
		},
		{
			name: "weights that add up to more than the limit", given: cluster, answer: heavy,
			wrong: "gave weights that add up to 65536, which is more than 65535",
		},
		{
			name: "nothing where there is a choice", given: cluster, answer: choose(),
			wrong: "chose nothing although there are usable endpoints",
		},
		{
			name: "nothing where this node has a choice", given: local, answer: choose(),
			wrong: "chose nothing although there are usable endpoints",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			own := selector.Selector(selector.Cluster{})
			if tc.given.Policy() == selector.PolicyLocal {
				own = selector.Local{}
			}
			want := own.Select(&tc.given)
			want.Fallback = true
			want.Reason = selector.Reason{
				Code: selector.SelectorViolation,
				Text: "the selector " + tc.wrong + ", so policy " + tc.given.Policy().String() + " applies",
			}
			require.Equal(t, want, selector.Enforce(hostile{tc.answer}).Select(&tc.given))
		})
	}
}

func TestEnforcePassesOnWhatKeepsTheRules(t *testing.T) {
	remote := request(ready("10.1.2.1", "node-b"))
	for _, tc := range []struct {
		name   string
		given  selector.Request
		answer selector.Selection
		want   func(*selector.Selection)
	}{
		{
			name: "a part of the endpoints", given: request(ready("10.1.1.1", "node-a"), ready("10.1.2.1", "node-b")),
			answer: choose("10.1.2.1"), want: func(*selector.Selection) {},
		},
		{
			name: "the largest weight", given: remote,
			answer: weigh("10.1.2.1", selector.MaxWeight), want: func(*selector.Selection) {},
		},
		{
			name:   "a part of the terminating endpoints where nothing is ready",
			given:  request(draining("10.1.1.1", "node-a"), draining("10.1.2.1", "node-b")),
			answer: choose("10.1.2.1"), want: func(*selector.Selection) {},
		},
		{
			name:  "a terminating endpoint on this node under policy Local while others are ready elsewhere",
			given: localOnly(draining("10.1.1.1", "node-a"), ready("10.1.2.1", "node-b")), answer: choose("10.1.1.1"),
			want: func(s *selector.Selection) { s.Scope = selector.ScopeNode },
		},
		{
			name: "backends in any order, which it mends", given: request(ready("10.1.1.1", "node-a"), ready("10.1.2.1", "node-b")),
			answer: choose("10.1.2.1", "10.1.1.1"),
			want:   func(s *selector.Selection) { s.Backends = choose("10.1.1.1", "10.1.2.1").Backends },
		},
		{
			name: "a missing reason, which it mends", given: remote,
			answer: selector.Selection{Backends: choose("10.1.2.1").Backends},
			want: func(s *selector.Selection) {
				s.Reason = selector.Reason{Code: selector.Unstated, Text: "the selector gave no reason"}
			},
		},
		{
			name:  "nothing where policy Local leaves nothing, with the verdict mended",
			given: localOnly(ready("10.1.2.1", "node-b")), answer: choose(),
			want: func(s *selector.Selection) { s.Empty, s.Scope = selector.Drop, selector.ScopeNode },
		},
		{
			name: "nothing where there is nothing, with the verdict mended", given: request(unready("10.1.2.1", "node-b")),
			answer: selector.Selection{Empty: selector.Drop, Reason: choose().Reason},
			want:   func(s *selector.Selection) { s.Empty = selector.Reject },
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := tc.answer
			tc.want(&want)
			require.Equal(t, want, selector.Enforce(hostile{tc.answer}).Select(&tc.given))
		})
	}
}

func TestEnforceLeavesTheAnswersSliceAlone(t *testing.T) {
	answer := choose("10.1.2.1", "10.1.1.1")
	req := request(ready("10.1.1.1", "node-a"), ready("10.1.2.1", "node-b"))
	selector.Enforce(hostile{answer}).Select(&req)
	require.Equal(t, choose("10.1.2.1", "10.1.1.1"), answer, "a selector may keep its slice")
}

func TestEnforceOfWhatIsEnforcedOrMissing(t *testing.T) {
	once := selector.Enforce(selector.PreferLocal{})
	require.Equal(t, once, selector.Enforce(once), "it is not checked twice")
	require.Equal(t, selector.Enforce(selector.Cluster{}), selector.Enforce(nil), "nil stands for Cluster")
}

// thief writes to the request to get what it must not have.
type thief struct{}

func (thief) Select(req *selector.Request) selector.Selection {
	req.Port.Internal, req.Node.Name = selector.PolicyCluster, "node-b"
	return choose("10.1.2.1")
}

func TestEnforceJudgesByTheRequestAsItWasMade(t *testing.T) {
	req := localOnly(ready("10.1.1.1", "node-a"), ready("10.1.2.1", "node-b"))
	sel := selector.Enforce(thief{}).Select(&req)
	require.Equal(t, selector.SelectorViolation, sel.Reason.Code)
	require.Equal(t, "10.1.1.1", addrs(sel.Backends))
}

func TestEnforceAllowsMoreBackendsThanSlots(t *testing.T) {
	req := request()
	for i := range selector.MaxWeight + 2 {
		a := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		req.Endpoints = append(req.Endpoints, selector.Endpoint{Addr: netip.AddrPortFrom(a, 80), Ready: true})
	}
	sel := selector.Enforce(selector.Cluster{}).Select(&req)
	require.Equal(t, selector.AllReady, sel.Reason.Code)
	require.Len(t, sel.Backends, selector.MaxWeight+2)
}
