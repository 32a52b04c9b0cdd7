package demo

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/internal/netlab"
	"github.com/nearside/nearside/internal/netns"
)

// requireNothingLeft checks that a process has cleaned up after itself: its
// namespaces, its folder, and its agents.
func requireNothingLeft(t *testing.T, pid string) {
	t.Helper()
	require.Empty(t, leftNamespaces(t, pid), "network namespaces")
	folders, err := filepath.Glob(filepath.Join(os.TempDir(), labName+"-"+pid+"-*"))
	require.NoError(t, err)
	require.Empty(t, folders, "folders")
	require.Empty(t, agentsOf(t, pid), "agents")
}

func leftNamespaces(t *testing.T, pid string) []string {
	t.Helper()
	names, err := netlab.Namespaces(labName)
	require.NoError(t, err)
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, labName+"-"+pid+"-") })
}

// agentsOf returns the processes that read the manifests of a demo.
func agentsOf(t *testing.T, pid string) (pids []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, f := range files {
		line, err := os.ReadFile(f)
		if errors.Is(err, fs.ErrNotExist) || err != nil {
			continue // it has ended meanwhile
		}
		if bytes.Contains(line, []byte(labName+"-"+pid+"-")) {
			pids = append(pids, filepath.Base(filepath.Dir(f)))
		}
	}
	return pids
}

func TestDemo(t *testing.T) {
	netns.RequireRoot(t)
	var out, progress bytes.Buffer
	opts, err := Options{Agent: needAgent(t), Connections: 200, Out: &out, Progress: &progress}.withDefaults()
	require.NoError(t, err)
	lab, err := netlab.New(t.Context(), netlab.Options{Name: labName})
	require.NoError(t, err)
	d := &demo{opts: opts, console: newConsole(opts, func(err error) { t.Error(err) })}
	began := time.Now()
	err = d.runIn(t.Context(), lab)
	t.Logf("took %s\n%s%s", time.Since(began).Round(ms), progress.String(), out.String())
	require.NoError(t, err)
	requireNothingLeft(t, ownPID())

	require.Contains(t, out.String(), "\nPASS: ")
	require.Equal(t, stepsInAll, strings.Count(progress.String(), "\n"), "a line for each step")
	t.Run("the policies show what they are for", func(t *testing.T) { requirePolicies(t, d) })
}

// requirePolicies looks at some of the results with the eyes of a reader.
func requirePolicies(t *testing.T, d *demo) {
	t.Helper()
	at := make(map[string]*tally) // by policy, service and node
	for _, r := range d.results {
		for service, rows := range r.services {
			for i := range rows {
				at[r.policy.name+" "+service+" "+rows[i].node] = rows[i].tally
			}
		}
	}
	require.Len(t, at, 4*2*3)
	local := func(key string) float64 {
		require.NotNil(t, at[key], key)
		node := key[strings.LastIndexByte(key, ' ')+1:]
		return at[key].shareOf(func(pod string) bool { return d.stage.sc.nodeOf(pod) == node })
	}
	require.Less(t, local("Cluster cart node-a"), 0.7)
	require.InDelta(t, 1, local("PreferLocal cart node-a"), 0)
	require.InDelta(t, 1, local("PreferLocal cart node-b"), 0)
	require.InDelta(t, 0, local("PreferLocal cart node-c"), 0)
	require.Equal(t, 200, at["PreferLocal cart node-c"].answered, "falls back")
	require.InDelta(t, 1, local("PreferLocal stock node-a"), 0)
	require.InDelta(t, 1, local("LocalIfPlenty cart node-a"), 0)
	require.Less(t, local("LocalIfPlenty stock node-a"), 0.9, "too few endpoints to stay on the node")
	require.InDelta(t, 1, local("Local cart node-b"), 0)
	require.Zero(t, at["Local cart node-c"].answered, "dropped")
	require.Equal(t, dropAttempts, at["Local cart node-c"].failed)

	require.Greater(t, at["Cluster cart node-c"].connectTime(50), 2*DefaultZoneDelay, "there and back between zones")
}

func TestDemoReportsAnAgentThatEnds(t *testing.T) {
	netns.RequireRoot(t)
	err := Run(t.Context(), Options{Agent: "/bin/false", Connections: 1})
	require.ErrorContains(t, err, "ended by itself (exit status 1): (it said nothing)")
	requireNothingLeft(t, ownPID())
}

func TestDemoReportsAMissingAgent(t *testing.T) {
	netns.RequireRoot(t)
	err := Run(t.Context(), Options{Agent: "/no/such/program", Connections: 1})
	require.ErrorContains(t, err, "start agent of node-a")
	requireNothingLeft(t, ownPID())
}

func TestDemoEndsWithItsContext(t *testing.T) {
	netns.RequireRoot(t)
	why := errors.New("had enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(300*ms, func() { cancel(why) })
	require.ErrorIs(t, Run(ctx, Options{Agent: needAgent(t)}), why)
	requireNothingLeft(t, ownPID())
}

// panicky is a writer with a mistake in it.
type panicky struct{}

func (panicky) Write([]byte) (int, error) { panic("a mistake") }

func TestDemoCleansUpWhenItPanics(t *testing.T) {
	netns.RequireRoot(t)
	require.PanicsWithValue(t, "a mistake", func() {
		_ = Run(t.Context(), Options{Agent: needAgent(t), Out: panicky{}})
	})
	requireNothingLeft(t, ownPID())
}

func TestDemoStopsWhenItsResultsCannotBeWritten(t *testing.T) {
	netns.RequireRoot(t)
	err := Run(t.Context(), Options{Agent: needAgent(t), Out: brokenPipe{}})
	require.ErrorContains(t, err, "write results: broken pipe")
	requireNothingLeft(t, ownPID())
}
