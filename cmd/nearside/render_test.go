package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/agent"
)

// onNodeA are the flags of most tests.
var onNodeA = []string{"--node-name", "node-a", "--cluster-cidr", "10.244.0.0/16,fd00:10:244::/48"}

func with(command string, args ...string) []string {
	return append(append([]string{command}, onNodeA...), args...)
}

func TestRender(t *testing.T) {
	r := nearside(t, with("render", "-f", "testdata/cluster")...)
	requireDone(t, r)
	golden(t, "render.nft", r.out)
	require.Equal(t, 1, strings.Count(r.errOut, "\n"), "only the kind that is not needed is worth a note: %s", r.errOut)
	require.Contains(t, r.errOut, "kind=Deployment")
	for range 3 {
		require.Equal(t, r.out, nearside(t, with("render", "-f", "testdata/cluster")...).out, "the same input gives the same bytes")
	}
}

func TestRenderReadsFilesFoldersAndStandardInput(t *testing.T) {
	want := nearside(t, with("render", "-f", "testdata/cluster")...).out
	files := nearside(t, with("render", "-f", "testdata/cluster/web.yaml", "-f", "testdata/cluster/nodes.json", "-f", "testdata/cluster/dns.yaml")...)
	requireDone(t, files)
	require.Equal(t, want, files.out)

	var all strings.Builder
	for _, name := range []string{"web.yaml", "dns.yaml"} {
		text, err := os.ReadFile(filepath.Join("testdata/cluster", name))
		require.NoError(t, err)
		all.WriteString("---\n" + string(text))
	}
	stdin := nearsideReading(t, strings.NewReader(all.String()), with("render", "-f", "-", "-f", "testdata/cluster/nodes.json")...)
	requireDone(t, stdin)
	require.Equal(t, want, stdin.out)
}

func TestRenderForOtherNodesAndPolicies(t *testing.T) {
	a := nearside(t, "render", "--node-name", "node-a", "-f", "testdata/cluster").out
	b := nearside(t, "render", "--hostname-override", "NODE-B", "-f", "testdata/cluster").out
	require.NotEqual(t, a, b)
	require.Contains(t, b, "10.96.0.21 . sctp . 9100 : goto pick-1", "node-b has the only endpoint of the strict service")
	require.Contains(t, a, "10.96.0.21 . sctp . 9100 : drop")
	local := nearside(t, "render", "--node-name", "node-b", "--default-policy", "PreferLocal", "-f", "testdata/cluster").out
	require.NotContains(t, local, "10.244.3.53", "node-b has a DNS endpoint of its own")
	all := nearside(t, "render", "--node-name", "node-a", "--masquerade-all", "-f", "testdata/cluster").out
	require.NotEqual(t, a, all)
}

func TestMalformedManifest(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"broken YAML":             {"apiVersion: v1\nkind: Service\nmetadata: {name: [a\n", []string{"broken.yaml:"}},
		"a field of another type": {"# one\n---\napiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: 7}\n", []string{"broken.yaml:", "ports"}},
		"no kind":                 {"apiVersion: v1\nmetadata: {name: a}\n", []string{"broken.yaml:1", "kind"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "broken.yaml")
			require.NoError(t, os.WriteFile(path, []byte(tc.text), 0o600))
			for _, c := range []string{"render", "explain"} {
				args := with(c, "-f", path, "-f", "testdata/cluster")
				if c == "explain" {
					args = append(args, "shop/web")
				}
				r := nearside(t, args...)
				requireFailure(t, r, 1, tc.want...)
			}
		})
	}
	requireFailure(t, nearside(t, with("render", "-f", "testdata/missing")...), 1, "testdata/missing", "no such file or directory")
}

// TestBadObjects checks that each bad object costs only itself and is named in
// one warning.
func TestBadObjects(t *testing.T) {
	good := nearside(t, with("render", "-f", "testdata/cluster")...)
	r := nearside(t, with("render", "-f", "testdata/cluster", "-f", "testdata/bad")...)
	requireDone(t, r)
	var warnings []string
	for line := range strings.Lines(r.errOut) {
		if strings.Contains(line, "level=WARN") {
			warnings = append(warnings, line)
		}
	}
	require.Len(t, warnings, 5, r.errOut)
	for _, words := range [][]string{
		{"kind=EndpointSlice", "object=bad/address-1", "10.244.1.300"},
		{"kind=EndpointSlice", "object=bad/family-1", "fd00::31"},
		{"kind=Service", "object=bad/duplicate", "10.96.9.1:80"},
		{"reason=UnknownPolicy", "object=bad/policy", `Nearest\x1b[2J`},
		{"kind=Service", "object=bad/nnnnnnnnnnnnnnnn", "63 characters"},
	} {
		found := 0
		for _, w := range warnings {
			all := true
			for _, word := range words {
				all = all && strings.Contains(w, word)
			}
			if all {
				found++
			}
		}
		require.Equal(t, 1, found, "%q in %s", words, r.errOut)
	}
	require.NotContains(t, r.errOut, "\x1b")
	for _, element := range elementsOf(good.out) {
		require.Contains(t, r.out, element)
	}
	for _, element := range []string{
		"10.96.9.1 . tcp . 80 . 0 : 10.244.1.30 . 8080", "10.96.9.1 . tcp . 80 . 1 : 10.244.1.31 . 8080", "10.96.9.3 . tcp . 80 : goto refuse",
	} {
		require.Contains(t, r.out, element)
	}
	require.NotContains(t, r.out, "10.96.9.4")
}

// elementsOf returns the elements of all maps of a ruleset.
func elementsOf(text string) (elements []string) {
	for line := range strings.Lines(text) {
		line = strings.Trim(strings.TrimPrefix(strings.TrimSpace(line), "elements = {"), " ,}\n")
		if strings.Contains(line, " : ") && !strings.Contains(line, "typeof") && !strings.Contains(line, "type ") {
			elements = append(elements, line)
		}
	}
	return elements
}

func TestExplain(t *testing.T) {
	for file, args := range map[string][]string{
		"explain.txt":  {"shop/web"},
		"explain.json": {"-o", "json", "shop/web:http"},
		"explain.yaml": {"-o", "yaml", "shop/strict:9100"},
	} {
		t.Run(file, func(t *testing.T) {
			r := nearside(t, append(with("explain", "-f", "testdata/cluster"), args...)...)
			requireDone(t, r)
			golden(t, file, r.out)
		})
	}
	var x agent.Explanation
	require.NoError(t, json.Unmarshal([]byte(nearside(t, append(with("explain", "-f", "testdata/cluster"), "-o", "json", "shop/web")...).out), &x))
	require.Len(t, x.Ports, 2, "both families")
}

func TestExplainWhatIsNotThere(t *testing.T) {
	r := nearside(t, with("explain", "-f", "testdata/cluster/web.yaml", "-f", "testdata/cluster/nodes.json", "shop/wbe")...)
	requireFailure(t, r, 1, `find service "shop/wbe"`)
	r = nearside(t, with("explain", "-f", "testdata/cluster/web.yaml", "-f", "testdata/cluster/nodes.json", "shop/web:https")...)
	requireFailure(t, r, 1, `find port "https" of service "shop/web"`)
	r = nearside(t, "explain", "--agent", filepath.Join(t.TempDir(), "agent.sock"), "shop/web")
	requireFailure(t, r, 1, "ask the agent on", "nearside run --socket")
}
