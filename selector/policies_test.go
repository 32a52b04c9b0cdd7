package selector_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/selector"
)

// policies are the built-in policies under test.
var policies = []struct {
	name     string
	selector selector.Selector
}{
	{"Cluster", selector.Cluster{}},
	{"Local", selector.Local{}},
	{"PreferLocal", selector.PreferLocal{}},
	{"LocalIfPlenty", selector.LocalIfPlenty{}},
}

// statements are those of the Service semantics that concern a selector: E the
// endpoint list, R readiness, T topology, P traffic policy, D no endpoint.
var statements = []string{
	"E3", "E4", "E5",
	"R1", "R2", "R3", "R4", "R5", "R6",
	"T1", "T2", "T3", "T4", "T5",
	"P1", "P2", "P6",
	"D1", "D2",
}

// row is one sentence of a statement, and what every policy makes of it.
type row struct {
	statement string
	name      string
	given     selector.Request
	want      map[string]answer
}

// answer is a Selection in short: addresses without the port they share.
type answer struct {
	to       string
	scope    selector.Scope
	fallback bool
	empty    selector.Verdict
	code     selector.Code
}

func cluster(to string, code selector.Code) answer {
	return answer{to: to, scope: selector.ScopeCluster, code: code}
}

func zone(to string, code selector.Code) answer {
	return answer{to: to, scope: selector.ScopeZone, code: code}
}

func node(to string, code selector.Code) answer {
	return answer{to: to, scope: selector.ScopeNode, code: code}
}

// wider marks an answer as a fallback.
func wider(a answer) answer {
	a.fallback = true
	return a
}

var (
	rejected      = cluster("", selector.NoEndpoint)
	rejectedLocal = node("", selector.NoEndpoint)
	dropped       = answer{scope: selector.ScopeNode, empty: selector.Drop, code: selector.NoLocalEndpoint}
)

// each gives the answers in the order of policies.
func each(clusterWant, localWant, preferLocal, localIfPlenty answer) map[string]answer {
	return map[string]answer{
		"Cluster": clusterWant, "Local": localWant,
		"PreferLocal": preferLocal, "LocalIfPlenty": localIfPlenty,
	}
}

// all is for traffic policy Local, which makes all policies one.
func all(a answer) map[string]answer { return each(a, a, a, a) }

func TestPolicies(t *testing.T) {
	type cell struct{ statement, policy string }
	covered, given := map[cell]bool{}, map[selector.Code]bool{}
	rows := tableRows()
	for _, row := range rows {
		for _, p := range policies {
			want, ok := row.want[p.name]
			if !ok {
				continue
			}
			covered[cell{row.statement, p.name}] = true
			given[want.code] = true
			t.Run(row.statement+"/"+row.name+"/"+p.name, func(t *testing.T) {
				sel := p.selector.Select(&row.given)
				require.Equal(t, want, answer{
					to: addrs(sel.Backends), scope: sel.Scope, fallback: sel.Fallback,
					empty: sel.Empty, code: sel.Reason.Code,
				})
				require.NotEmpty(t, sel.Reason.Text, "a reason has a sentence")
				for _, b := range sel.Backends {
					require.Equal(t, 1, b.Weight, "R6: backends have equal shares")
				}
				if p.name != "Local" || row.given.Policy() == selector.PolicyLocal {
					require.Equal(t, sel, selector.Enforce(p.selector).Select(&row.given),
						"Enforce leaves a built-in policy alone where it belongs")
				}
			})
		}
	}

	for _, s := range statements {
		for _, p := range policies {
			require.True(t, covered[cell{s, p.name}], "the table lacks a row for statement %s with policy %s", s, p.name)
		}
	}
	for _, code := range codes(t) {
		if code == selector.SelectorViolation || code == selector.Unstated {
			continue // Enforce's own, see its tests
		}
		require.True(t, given[code], "the table lacks a row with reason %s", code)
	}
	for _, row := range rows {
		require.Contains(t, statements, row.statement, "row %q belongs to an unknown statement", row.name)
	}
}
