package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWrongUsage(t *testing.T) {
	cluster := "testdata/cluster"
	for name, tc := range map[string]struct {
		args []string
		want string
		help string // the command whose help is pointed to
	}{
		"no command":                    {nil, "no command is given", "nearside"},
		"an unknown command":            {[]string{"frobnicate"}, `unknown command "frobnicate"`, "nearside"},
		"a mistyped command":            {[]string{"rendr"}, `unknown command "rendr", perhaps "render" is meant`, "nearside"},
		"an unknown flag of all":        {[]string{"--frobnicate"}, "unknown flag: --frobnicate", "nearside"},
		"an unknown flag":               {[]string{"render", "--frobnicate"}, "unknown flag: --frobnicate", "nearside render"},
		"a flag without its value":      {[]string{"render", "-f"}, "flag needs an argument", "nearside render"},
		"an argument too many":          {[]string{"render", "-f", cluster, "more"}, `unexpected argument "more"`, "nearside render"},
		"an argument of cleanup":        {[]string{"cleanup", "now"}, `unexpected argument "now"`, "nearside cleanup"},
		"an argument of version":        {[]string{"version", "now"}, `unexpected argument "now"`, "nearside version"},
		"an unknown help topic":         {[]string{"help", "frobnicate"}, `unknown help topic "frobnicate"`, "nearside help"},
		"no manifests to render":        {[]string{"render"}, "no manifests are given", "nearside render"},
		"no manifests to apply":         {[]string{"apply"}, "no manifests are given", "nearside apply"},
		"nothing to explain":            {[]string{"explain"}, "no service is given", "nearside explain"},
		"nothing to explain from":       {[]string{"explain", "shop/web"}, "give manifests with -f, or a running agent with --agent", "nearside explain"},
		"a service without namespace":   {[]string{"explain", "-f", cluster, "web"}, `parse "web": expected NAMESPACE/SERVICE`, "nearside explain"},
		"two services":                  {[]string{"explain", "-f", cluster, "shop/web", "shop/dns"}, `unexpected argument "shop/dns"`, "nearside explain"},
		"two places to explain from":    {[]string{"explain", "-f", cluster, "--agent", "s", "shop/web"}, "--agent and -f exclude each other", "nearside explain"},
		"an unknown form of output":     {[]string{"explain", "-f", cluster, "-o", "xml", "shop/web"}, `unknown form "xml": expected table, json or yaml`, "nearside explain"},
		"an unknown form of version":    {[]string{"version", "-o", "xml"}, `unknown form "xml": expected text or json`, "nearside version"},
		"nothing to follow":             {[]string{"run"}, "give --kubeconfig or --manifests", "nearside run"},
		"two things to follow":          {[]string{"run", "--kubeconfig", "k", "--manifests", "m"}, "--kubeconfig and --manifests exclude each other", "nearside run"},
		"no requests to the API":        {[]string{"run", "--kubeconfig", "k", "--kube-api-qps", "0"}, "--kube-api-qps and --kube-api-burst have to be positive", "nearside run"},
		"a wrong cluster CIDR":          {[]string{"render", "-f", cluster, "--cluster-cidr", "10.0.0.0"}, `flag --cluster-cidr: parse cluster CIDR "10.0.0.0"`, "nearside render"},
		"two cluster CIDRs of one kind": {[]string{"render", "-f", cluster, "--cluster-cidr", "10.0.0.0/8,11.0.0.0/8"}, "are of one IP family", "nearside render"},
		"a wrong node port address":     {[]string{"render", "-f", cluster, "--nodeport-addresses", "10.0.0.1"}, "flag --nodeport-addresses", "nearside render"},
		"a repeated keyword":            {[]string{"apply", "-f", cluster, "--nodeport-addresses", "all,all"}, `keyword "all" is repeated`, "nearside apply"},
		"an unknown default policy":     {[]string{"render", "-f", cluster, "--default-policy", "Nearest"}, `unknown default policy "Nearest"`, "nearside render"},
		"both names of one flag":        {[]string{"render", "-f", cluster, "--node-name", "a", "--hostname-override", "b"}, "mean the same", "nearside render"},
		"an unknown level":              {[]string{"render", "-f", cluster, "--log-level", "loud"}, `unknown level "loud": expected debug, info, warn or error`, "nearside render"},
		"an unknown log format":         {[]string{"render", "-f", cluster, "--log-format", "xml"}, `unknown format "xml": expected text or json`, "nearside render"},
		"a wrong duration":              {[]string{"run", "--manifests", cluster, "--min-sync-period", "soon"}, "invalid argument", "nearside run"},
		"no connections for the demo":   {[]string{"demo", "--connections", "0"}, "0 is not a positive number", "nearside demo"},
		"a node name that is a path":    {[]string{"render", "-f", cluster, "--node-name", "a/b"}, `node name "a/b" is not a name`, "nearside render"},
	} {
		t.Run(name, func(t *testing.T) {
			requireFailure(t, nearside(t, tc.args...), 2, tc.want, "; see '"+tc.help+" --help'")
		})
	}
}

func TestHelp(t *testing.T) {
	for _, c := range []string{"run", "apply", "render", "explain", "cleanup", "demo", "version"} {
		t.Run(c, func(t *testing.T) {
			r := nearside(t, c, "--help")
			requireDone(t, r)
			require.Empty(t, r.errOut)
			require.Contains(t, r.out, "Examples:\n  nearside "+c)
			for line := range strings.SplitSeq(r.out, "\n") {
				require.NotContains(t, line, "\t")
			}
			requireDone(t, nearside(t, "help", c))
			all := nearside(t, "--help")
			requireDone(t, all)
			require.Contains(t, all.out, "\n  "+c+" ")
		})
	}
}

// TestFlagsOfKubeProxy holds names and defaults to those of kube-proxy.
func TestFlagsOfKubeProxy(t *testing.T) {
	help := nearside(t, "run", "--help").out
	for flag, preset := range map[string]string{
		"--kubeconfig": "", "--hostname-override": "", "--cluster-cidr": "", "--masquerade-all": "",
		"--kube-api-qps": "(default 5)", "--kube-api-burst": "(default 10)",
		"--healthz-bind-address": `(default "0.0.0.0:10256")`, "--metrics-bind-address": `(default "127.0.0.1:10249")`,
		"--nodeport-addresses": "(default [primary])", "--min-sync-period": "(default 1s)",
		"--conntrack-max-per-core": "(default 32768)", "--conntrack-min": "(default 131072)",
		"--conntrack-tcp-timeout-established": "(default 24h0m0s)", "--conntrack-tcp-timeout-close-wait": "(default 1h0m0s)",
		"--conntrack-tcp-be-liberal": "", "--conntrack-udp-timeout": "", "--conntrack-udp-timeout-stream": "",
		"--oom-score-adj": "(default -999)", "--init-only": "",
	} {
		found := ""
		for line := range strings.SplitSeq(help, "\n") {
			if strings.Contains(line, "  "+flag+" ") {
				found = line
			}
		}
		require.NotEmpty(t, found, flag)
		require.Contains(t, found, preset)
	}
}

func TestVersion(t *testing.T) {
	r := nearside(t, "version")
	requireDone(t, r)
	require.Contains(t, r.out, runtime.Version())
	r = nearside(t, "version", "-o", "json")
	requireDone(t, r)
	var info versionInfo
	require.NoError(t, json.Unmarshal([]byte(r.out), &info))
	require.Equal(t, runtime.Version(), info.Go)
	require.Equal(t, runtime.GOOS+"/"+runtime.GOARCH, info.Platform)
	require.NotEmpty(t, info.Version)
}

func TestKubeconfigThatIsNotThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	requireFailure(t, nearside(t, "run", "--kubeconfig", path), 1, "read kubeconfig", path)
	require.NoError(t, os.WriteFile(path, []byte("not: [a kubeconfig"), 0o600))
	requireFailure(t, nearside(t, "run", "--kubeconfig", path), 1, "read kubeconfig", path)
}
