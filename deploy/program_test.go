package deploy_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// help returns what a subcommand says of its flags.
func help(t *testing.T, subcommand string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, subcommand, "--help").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// hasFlag reports whether a subcommand has a flag.
func hasFlag(t *testing.T, subcommand, flag string) bool {
	t.Helper()
	return regexp.MustCompile(`(?m)^\s+(-\w, )?` + regexp.QuoteMeta(flag) + `(\s|$)`).MatchString(help(t, subcommand))
}

// TestEveryFlagOfTheManifestsExists asks the program itself.
func TestEveryFlagOfTheManifestsExists(t *testing.T) {
	require.False(t, hasFlag(t, "run", "--no-such-flag"), "the question can be answered with no")
	checked := 0
	for _, path := range []string{"base/daemonset.yaml", "cleanup/nearside/daemonset.yaml"} {
		pod := load[*appsv1.DaemonSet](t, path).Spec.Template.Spec
		for _, c := range append(pod.InitContainers, pod.Containers...) {
			if !strings.HasPrefix(c.Image, "nearside:") {
				continue
			}
			require.Empty(t, c.Command, "the image knows its program")
			require.NotEmpty(t, c.Args)
			for _, arg := range c.Args[1:] {
				flag, _, _ := strings.Cut(arg, "=")
				checked++
				require.True(t, hasFlag(t, c.Args[0], flag), "%s: container %s: nearside %s has no flag %s", path, c.Name, c.Args[0], flag)
			}
		}
	}
	require.GreaterOrEqual(t, checked, 5)
}

// TestProbesAskWhereTheAgentAnswers compares with the default of the flag.
func TestProbesAskWhereTheAgentAnswers(t *testing.T) {
	agent := daemonSet(t).Spec.Template.Spec.Containers[0]
	for name, probe := range map[string]*corev1.Probe{"liveness": agent.LivenessProbe, "readiness": agent.ReadinessProbe} {
		require.NotNil(t, probe, name)
		require.NotNil(t, probe.HTTPGet, name)
		require.Equal(t, "/livez", probe.HTTPGet.Path, name)
		require.Equal(t, "127.0.0.1", probe.HTTPGet.Host, name)
		require.Equal(t, 10256, probe.HTTPGet.Port.IntValue(), name)
	}
	require.Contains(t, help(t, "run"), `(default "0.0.0.0:10256")`)
}

// TestImageHoldsOneStaticProgram: nothing else is in it that could load it.
func TestImageHoldsOneStaticProgram(t *testing.T) {
	f, err := elf.Open(program)
	require.NoError(t, err)
	defer f.Close()
	for _, p := range f.Progs {
		require.NotContains(t, []elf.ProgType{elf.PT_INTERP, elf.PT_DYNAMIC}, p.Type, "the program is linked dynamically")
	}
	text, err := os.ReadFile("Containerfile")
	require.NoError(t, err)
	_, last, ok := strings.Cut(string(text), "\nFROM scratch\n")
	require.True(t, ok)
	require.Equal(t, "COPY --from=build /nearside /nearside\nENTRYPOINT [\"/nearside\"]\n", last)
}

// TestImageIsBuiltWithTheGoOfTheModule reads both files.
func TestImageIsBuiltWithTheGoOfTheModule(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(mod))
	require.NotNil(t, version)
	text, err := os.ReadFile("Containerfile")
	require.NoError(t, err)
	require.Contains(t, string(text), "golang:"+version[1]+" AS build")
}
