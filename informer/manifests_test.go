package informer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// serviceText is the manifest of a Service demo/NAME.
func serviceText(name, clusterIP string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: demo}\n"+
		"spec: {clusterIP: %s, ports: [{name: http, port: 80}]}\n", name, clusterIP)
}

// sliceText is the manifest of an EndpointSlice demo/NAME-1.
func sliceText(service string, addresses ...string) string {
	text := fmt.Sprintf("apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n"+
		"metadata: {name: %s-1, namespace: demo, labels: {kubernetes.io/service-name: %s}}\n"+
		"addressType: IPv4\nports: [{name: http, port: 8080}]\nendpoints:\n", service, service)
	for _, a := range addresses {
		text += "- {addresses: [" + a + "], nodeName: node-a}\n"
	}
	return text
}

func zonedNode(name, zone string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Node\nmetadata: {name: %s, labels: {topology.kubernetes.io/zone: %s}}\n", name, zone)
}

func docs(texts ...string) string { return strings.Join(texts, "---\n") }

func write(t testing.TB, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// logged is a log that a test can read.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

func (l *logged) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

func manifestStore() (*Store, *logged) {
	log := &logged{}
	return NewStore(StoreOptions{NodeName: "node-a", Log: log.logger()}), log
}

func names(s *Store) (out []string) {
	for _, n := range s.Services() {
		out = append(out, n.String())
	}
	return out
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "b.yaml"), docs(serviceText("web", "10.96.0.10"), sliceText("web", "10.1.1.5"), zonedNode("node-a", "zone-1")))
	write(t, filepath.Join(dir, "a.json"), `{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-b"}}`)
	write(t, filepath.Join(dir, "c.yml"), serviceText("api", "10.96.0.11"))
	write(t, filepath.Join(dir, "notes.txt"), "not: [a manifest")
	write(t, filepath.Join(dir, ".hidden.yaml"), "not: [a manifest")
	write(t, filepath.Join(dir, "deep", "d.yaml"), serviceText("deep", "10.96.0.12"))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, ".#b.yaml")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "dangling.yaml")))

	s, _ := manifestStore()
	require.NoError(t, (&Manifests{Paths: []string{dir}}).Load(t.Context(), s))
	require.NoError(t, s.Wait(t.Context()))
	require.Equal(t, Changes{Services: []Name{{"demo", "api"}, web}, Node: true, Nodes: true}, s.Take())
	require.Equal(t, []string{"10.1.1.5:8080 node-a ready"}, endpointsOf(t, s, web))
	require.Equal(t, Node{Name: "node-a", Known: true, Zone: "zone-1"}, s.Node())
	require.Equal(t, 2, s.Nodes())

	require.NoError(t, (&Manifests{Paths: []string{dir}, Recursive: true}).Load(t.Context(), s))
	require.Equal(t, Changes{Services: []Name{{"demo", "deep"}}}, s.Take(), "what was there already is untouched")

	stdin := strings.NewReader(serviceText("piped", "10.96.0.13"))
	m := &Manifests{Paths: []string{"-", filepath.Join(dir, "c.yml")}, Stdin: stdin}
	require.NoError(t, m.Load(t.Context(), s))
	require.Equal(t, []string{"demo/api", "demo/piped"}, names(s), "a load is the complete content")
	require.Zero(t, s.Nodes())
}

func TestManifestsHoldServiceCIDRs(t *testing.T) {
	const text = "apiVersion: networking.k8s.io/v1\nkind: ServiceCIDR\nmetadata: {name: %s}\nspec: {cidrs: [%q, %q]}\n"
	dir := t.TempDir()
	first, second := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml")
	write(t, first, docs(fmt.Sprintf(text, "kubernetes", "10.96.0.0/16", "fd00:96::/112"), serviceText("web", "10.96.0.10")))
	s, log := manifestStore()
	require.NoError(t, (&Manifests{Paths: []string{dir}}).Load(t.Context(), s))
	require.True(t, s.Take().ServiceCIDRs)
	require.Equal(t, prefixes("10.96.0.0/16", "fd00:96::/112"), s.ServiceCIDRs())
	require.Zero(t, log.count("kind that is not needed"))

	write(t, second, fmt.Sprintf(text, "more", "10.90.0.0/20", "bad"))
	require.NoError(t, (&Manifests{Paths: []string{dir}}).Load(t.Context(), s))
	require.Equal(t, Changes{Services: []Name{}, ServiceCIDRs: true}, s.Take())
	require.Equal(t, prefixes("10.90.0.0/20", "10.96.0.0/16", "fd00:96::/112"), s.ServiceCIDRs())
	require.Equal(t, 1, log.count("kind=ServiceCIDR object=more field=spec.cidrs"), "a malformed prefix costs only itself")

	write(t, second, fmt.Sprintf(text, "kubernetes", "10.90.0.0/20", "10.91.0.0/20"))
	require.NoError(t, (&Manifests{Paths: []string{dir}}).Load(t.Context(), s))
	require.Equal(t, prefixes("10.90.0.0/20", "10.91.0.0/20"), s.ServiceCIDRs(), "of two definitions the last counts")
	require.NoError(t, os.Remove(first))
	require.NoError(t, os.Remove(second))
	require.NoError(t, (&Manifests{Paths: []string{dir}}).Load(t.Context(), s))
	require.Empty(t, s.ServiceCIDRs())
}

func TestLoadOfAMalformedManifestChangesNothing(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml")
	write(t, good, serviceText("web", "10.96.0.10"))
	s, _ := manifestStore()
	require.NoError(t, (&Manifests{Paths: []string{dir}}).Load(t.Context(), s))
	s.Take()

	write(t, good, serviceText("other", "10.96.0.11"))
	write(t, bad, docs(serviceText("more", "10.96.0.12"), "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {ports: [{port: http}]}\n"))
	err := (&Manifests{Paths: []string{dir}}).Load(t.Context(), s)
	e, ok := errors.AsType[*ManifestError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, bad, e.File)
	require.Equal(t, 9, e.Line)
	require.EqualError(t, err, bad+`:9: "spec.ports.port": want a whole number that fits in int32, found the text "http"`)
	require.Equal(t, []string{"demo/web"}, names(s))
	require.True(t, waits(s))
}

func TestLoadOfWhatIsNotThere(t *testing.T) {
	s, _ := manifestStore()
	missing := filepath.Join(t.TempDir(), "missing")
	for name, path := range map[string]string{"a missing path": missing, "an empty path": ""} {
		t.Run(name, func(t *testing.T) {
			err := (&Manifests{Paths: []string{path}}).Load(t.Context(), s)
			require.ErrorIs(t, err, fs.ErrNotExist)
			e, ok := errors.AsType[*ManifestError](err)
			require.True(t, ok)
			require.Equal(t, path, e.File)
			require.Zero(t, e.Line)
		})
	}
	require.True(t, waits(s))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file := filepath.Join(t.TempDir(), "a.yaml")
	write(t, file, serviceText("web", "10.96.0.10"))
	require.ErrorIs(t, (&Manifests{Paths: []string{file}}).Load(ctx, s), context.Canceled)
}

func TestManifestErrorText(t *testing.T) {
	require.EqualError(t, &ManifestError{File: "a.yaml", Line: 3, Reason: "x"}, "a.yaml:3: x")
	require.EqualError(t, &ManifestError{File: "-", Reason: "x"}, "-: x")
	require.EqualError(t, &ManifestError{File: "a\n.yaml", Line: 3, Reason: "x"}, `"a\n.yaml":3: x`)
	require.ErrorIs(t, &ManifestError{Err: fs.ErrPermission}, fs.ErrPermission)
}

func TestAnEmptyFolderIsAnEmptyCluster(t *testing.T) {
	s, log := manifestStore()
	require.NoError(t, (&Manifests{Paths: []string{t.TempDir()}}).Load(t.Context(), s))
	require.NoError(t, s.Wait(t.Context()))
	require.Equal(t, 1, log.count("there are no manifests"))
}

func TestOfTwoDefinitionsTheLastCounts(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml")
	write(t, first, docs(serviceText("web", "10.96.0.1"), serviceText("web", "10.96.0.2"), zonedNode("node-a", "zone-1")))
	write(t, second, docs(serviceText("web", "10.96.0.3"), zonedNode("node-a", "zone-2"), zonedNode("node-b", "zone-2")))
	load := func(paths ...string) (string, Node, []string) {
		var told []string
		s := NewStore(StoreOptions{NodeName: "node-a", OnProblem: func(p Problem) { told = append(told, p.String()) }})
		require.NoError(t, (&Manifests{Paths: paths}).Load(t.Context(), s))
		service, ok := s.Service(web)
		require.True(t, ok)
		require.Len(t, s.Problems(), len(told))
		return service.Ports[0].ClusterIP.Addr().String(), s.Node(), told
	}

	ip, node, told := load(dir)
	require.Equal(t, "10.96.0.3", ip)
	require.Equal(t, "zone-2", node.Zone)
	require.ElementsMatch(t, []string{
		fmt.Sprintf("Service demo/web: is in %q too; the one in %q counts", first, second),
		fmt.Sprintf("Node node-a: is in %q too; the one in %q counts", first, second),
	}, told)

	ip, node, told = load(second, first)
	require.Equal(t, "10.96.0.2", ip, "the order of the paths, not of the names")
	require.Equal(t, "zone-1", node.Zone)
	require.ElementsMatch(t, []string{
		fmt.Sprintf("Service demo/web: is there more than once in %q; the one in line 6 counts", first),
		fmt.Sprintf("Service demo/web: is in %q too; the one in %q counts", second, first),
		fmt.Sprintf("Node node-a: is in %q too; the one in %q counts", second, first),
	}, told)

	ip, _, told = load(first, dir, first)
	require.Equal(t, "10.96.0.2", ip, "a file that several paths lead to counts once, where it is last")
	require.Len(t, told, 3)
}

func TestKindsThatAreNotNeededAreMentionedOnce(t *testing.T) {
	dir := t.TempDir()
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n"
	write(t, filepath.Join(dir, "a.yaml"), docs(pod, serviceText("web", "10.96.0.1"), pod, "apiVersion: apps/v1\nkind: Deployment\n"))
	write(t, filepath.Join(dir, "b.yaml"), pod)
	s, log := manifestStore()
	require.NoError(t, (&Manifests{Paths: []string{dir}}).Load(t.Context(), s))
	require.Equal(t, 2, log.count("kind=Pod"), "once per file")
	require.Equal(t, 1, log.count("kind=Deployment"))
	require.Equal(t, []string{"demo/web"}, names(s))
}

func TestReadErrorsNameTheFile(t *testing.T) {
	dir := t.TempDir() // a folder cannot be read as a file, not even by root
	s, _ := manifestStore()
	_, _, err := (&Manifests{}).reader(s).read(foundFile{path: dir})
	require.EqualError(t, err, dir+": read: is a directory")
}
