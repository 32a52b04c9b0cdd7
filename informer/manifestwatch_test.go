package informer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// watching runs a manifest source on paths until the test ends.
func watching(t *testing.T, paths ...string) (*Store, *logged) {
	t.Helper()
	return watchingWith(t, &Manifests{Paths: paths})
}

func watchingWith(t *testing.T, m *Manifests) (*Store, *logged) {
	t.Helper()
	s, log := manifestStore()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx, s) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	wait, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	require.NoError(t, s.Wait(wait))
	s.Take()
	return s, log
}

// soon waits until a condition holds.
func soon(t *testing.T, condition func() bool, what string) {
	t.Helper()
	require.Eventually(t, condition, 10*time.Second, 5*time.Millisecond, what)
}

// settled waits until everything on disk was seen, for which it writes one
// more file into a folder that is watched.
func settled(t *testing.T, s *Store, dir string) {
	t.Helper()
	name := fmt.Sprintf("probe-%d", time.Now().UnixNano()%1e9)
	path := filepath.Join(dir, name+".yaml")
	write(t, path, serviceText(name, "10.96.9.9"))
	soon(t, func() bool { return isServed(s, name) }, "the folder is still watched")
	require.NoError(t, os.Remove(path))
	soon(t, func() bool { return !isServed(s, name) }, "a removed file removes its objects")
}

func isServed(s *Store, name string) bool {
	_, ok := s.Service(Name{"demo", name})
	return ok
}

func clusterIP(s *Store, name string) string {
	service, ok := s.Service(Name{"demo", name})
	if !ok {
		return ""
	}
	return service.Ports[0].ClusterIP.Addr().String()
}

// rewrite puts a file in place in one step.
func rewrite(t testing.TB, path, text string) {
	t.Helper()
	next := filepath.Join(filepath.Dir(path), ".next")
	write(t, next, text)
	require.NoError(t, os.Rename(next, path))
}

func TestFilesComeChangeAndGo(t *testing.T) {
	// Only the first two promise that no half of a file is ever read. With the
	// others it takes a writer that stalls for longer than the reader waits.
	changes := []struct {
		name   string
		change func(t *testing.T, path, text string)
		steady bool
	}{
		{name: "renamed into place", change: func(t *testing.T, path, text string) { rewrite(t, path, text) }, steady: true},
		{name: "written in place", change: func(t *testing.T, path, text string) { write(t, path, text) }, steady: true},
		{name: "moved away and written anew", change: moveAndWrite},
		{name: "removed and written anew", change: removeAndWrite},
		{name: "written in many small pieces", change: writeInPieces},
	}
	for _, tt := range changes {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "web.yaml")
			write(t, file, docs(serviceText("web", "10.96.0.1"), serviceText("api", "10.96.1.1")))
			s, _ := watching(t, dir)
			watched := always(t, s, "web")
			tt.change(t, file, docs(serviceText("web", "10.96.0.2"), serviceText("api", "10.96.1.1")))
			soon(t, func() bool { return clusterIP(s, "web") == "10.96.0.2" }, "the change is seen")
			if gone := watched(); tt.steady {
				require.False(t, gone, "the object vanished in between")
				require.Equal(t, []Name{web}, s.Take().Services, "the object that stayed the same is untouched")
			}

			added := filepath.Join(dir, "db.yaml")
			tt.change(t, added, serviceText("db", "10.96.2.1"))
			soon(t, func() bool { return isServed(s, "db") }, "a new file is seen")
			require.NoError(t, os.Remove(added))
			soon(t, func() bool { return !isServed(s, "db") }, "a removed file removes its objects")
			require.True(t, isServed(s, "web"))
		})
	}
}

func moveAndWrite(t *testing.T, path, text string) {
	if _, err := os.Stat(path); err == nil {
		require.NoError(t, os.Rename(path, path+"~"))
	}
	write(t, path, text)
}

func removeAndWrite(t *testing.T, path, text string) {
	_ = os.Remove(path)
	write(t, path, text)
}

func writeInPieces(t *testing.T, path, text string) {
	f, err := os.Create(path)
	require.NoError(t, err)
	for line := range strings.Lines(text) {
		_, err := f.WriteString(line)
		require.NoError(t, err)
		time.Sleep(settle / 20)
	}
	require.NoError(t, f.Close())
}

// always watches a Service until stop is called, which reports whether it was
// gone at any time.
func always(t *testing.T, s *Store, name string) (stop func() (gone bool)) {
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	gone := false
	watching.Go(func() {
		for ctx.Err() == nil {
			gone = gone || !isServed(s, name)
			time.Sleep(50 * time.Microsecond)
		}
	})
	return func() bool {
		cancel()
		watching.Wait()
		return gone
	}
}

func TestObjectsStayWhileTheirFileIsReplacedOverAndOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "web.yaml")
	text := func(i int) string {
		return docs(sliceText("web", "10.1.1.5", fmt.Sprintf("10.1.2.%d", i)), serviceText("web", "10.96.0.1"))
	}
	write(t, file, text(1))
	s, _ := watching(t, dir)
	watched := always(t, s, "web")
	for i := 2; i <= 60; i++ {
		rewrite(t, file, text(i))
		time.Sleep(settle / 3)
	}
	soon(t, func() bool {
		service, ok := s.Service(web)
		return ok && text2(service) == "10.1.1.5:8080 10.1.2.60:8080"
	}, "the last content counts")
	require.False(t, watched(), "the object vanished in between")
}

func text2(s *Service) string {
	var out []string
	for _, e := range s.Ports[0].Endpoints {
		out = append(out, e.Addr.String())
	}
	return strings.Join(out, " ")
}

func TestAMalformedFileKeepsItsLastGoodState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "web.yaml")
	write(t, file, serviceText("web", "10.96.0.1"))
	s, log := watching(t, dir)

	write(t, file, serviceText("web", "10.96.0.2")+"broken: [\n")
	soon(t, func() bool { return log.count("level=ERROR") == 1 }, "the mistake is logged")
	require.Equal(t, 1, log.count(file+":5: did not find expected node content"))
	settled(t, s, dir)
	require.NoError(t, os.Chtimes(file, time.Time{}, time.Now()))
	settled(t, s, dir)
	require.Equal(t, "10.96.0.1", clusterIP(s, "web"))
	require.Equal(t, 1, log.count("level=ERROR"), "once")

	write(t, file, serviceText("web", "10.96.0.3"))
	soon(t, func() bool { return clusterIP(s, "web") == "10.96.0.3" }, "the next good state counts")
	soon(t, func() bool { return log.count("manifests can be read again") == 1 }, "and is logged")

	write(t, file, "")
	soon(t, func() bool { return log.count("the file is empty") == 1 }, "an empty file is no statement")
	require.Equal(t, "10.96.0.3", clusterIP(s, "web"))
	write(t, file, "# nothing any more\n")
	soon(t, func() bool { return !isServed(s, "web") }, "a file that says so removes its objects")
}

func TestAMalformedFileThatComesLaterHarmsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), serviceText("web", "10.96.0.1"))
	s, log := watching(t, dir)
	bad := filepath.Join(dir, "b.yaml")
	write(t, bad, "a: b: c\n")
	soon(t, func() bool { return log.count("level=ERROR") == 1 }, "the mistake is logged")
	require.True(t, isServed(s, "web"))
	require.NoError(t, os.Remove(bad))
	settled(t, s, dir)
	require.Equal(t, 1, log.count("level=ERROR"))
}

func TestRunFailsIfTheFirstLoadDoes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	write(t, file, "a: b: c\n")
	s, _ := manifestStore()
	_, ok := errors.AsType[*ManifestError]((&Manifests{Paths: []string{file}}).Run(t.Context(), s))
	require.True(t, ok)
	require.True(t, waits(s))
}

// A ConfigMap volume: files are links into a folder "..data", which is itself
// a link that is replaced when the ConfigMap changes.
func TestAConfigMapVolumeIsFollowed(t *testing.T) {
	for name, path := range map[string]func(dir string) string{
		"the folder": func(dir string) string { return dir },
		"the file":   func(dir string) string { return filepath.Join(dir, "web.yaml") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			publish := func(version, text string) {
				write(t, filepath.Join(dir, version, "web.yaml"), text)
				require.NoError(t, os.Symlink(version, filepath.Join(dir, "..data_tmp")))
				require.NoError(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
			}
			publish("..v1", serviceText("web", "10.96.0.1"))
			require.NoError(t, os.Symlink("..data/web.yaml", filepath.Join(dir, "web.yaml")))
			s, _ := watching(t, path(dir))
			watched := always(t, s, "web")
			for i := 2; i <= 4; i++ {
				publish(fmt.Sprintf("..v%d", i), serviceText("web", fmt.Sprintf("10.96.0.%d", i)))
				require.NoError(t, os.RemoveAll(filepath.Join(dir, fmt.Sprintf("..v%d", i-1))))
				soon(t, func() bool { return clusterIP(s, "web") == fmt.Sprintf("10.96.0.%d", i) }, "the swap is seen")
			}
			require.False(t, watched(), "the object vanished in between")
		})
	}
}

func TestAFileBehindLinksInOtherFoldersIsFollowed(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	write(t, filepath.Join(top, "v1", "web.yaml"), serviceText("web", "10.96.0.1"))
	write(t, filepath.Join(top, "v2", "web.yaml"), serviceText("web", "10.96.0.2"))
	require.NoError(t, os.Symlink("v1", filepath.Join(top, "current")))
	require.NoError(t, os.MkdirAll(filepath.Join(top, "etc"), 0o755))
	require.NoError(t, os.Symlink("../current", filepath.Join(top, "etc", "manifests")))
	s, _ := watching(t, filepath.Join(top, "etc", "manifests"))
	require.Equal(t, "10.96.0.1", clusterIP(s, "web"))

	write(t, filepath.Join(top, "v1", "web.yaml"), serviceText("web", "10.96.0.9"))
	soon(t, func() bool { return clusterIP(s, "web") == "10.96.0.9" }, "the target is watched")

	require.NoError(t, os.Symlink("v2", filepath.Join(top, "next")))
	require.NoError(t, os.Rename(filepath.Join(top, "next"), filepath.Join(top, "current")))
	soon(t, func() bool { return clusterIP(s, "web") == "10.96.0.2" }, "a link on the way is watched")
	rewrite(t, filepath.Join(top, "v2", "web.yaml"), serviceText("web", "10.96.0.3"))
	soon(t, func() bool { return clusterIP(s, "web") == "10.96.0.3" }, "the new target is watched")
}

func TestAFolderThatDisappearsKeepsItsState(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir, spare := filepath.Join(top, "manifests"), filepath.Join(top, "spare")
	write(t, filepath.Join(dir, "web.yaml"), serviceText("web", "10.96.0.1"))
	write(t, filepath.Join(spare, "web.yaml"), serviceText("web", "10.96.0.2"))
	s, log := watching(t, dir)
	watched := always(t, s, "web")
	require.NoError(t, os.Rename(dir, dir+".old"))
	soon(t, func() bool { return log.count("no such file or directory") == 1 }, "that is logged")
	require.NoError(t, os.Rename(spare, dir))
	soon(t, func() bool { return clusterIP(s, "web") == "10.96.0.2" }, "the folder that takes its place is seen")
	require.False(t, watched(), "the object vanished in between")
	write(t, filepath.Join(dir, "web.yaml"), serviceText("web", "10.96.0.3"))
	soon(t, func() bool { return clusterIP(s, "web") == "10.96.0.3" }, "and watched")

	write(t, filepath.Join(spare, "web.yaml"), serviceText("web", "10.96.0.4"))
	require.NoError(t, os.Rename(dir, dir+".older"))
	require.NoError(t, os.Rename(spare, dir))
	soon(t, func() bool { return clusterIP(s, "web") == "10.96.0.4" }, "also if it takes its place at once")
	settled(t, s, dir)
	require.Equal(t, 1, log.count("level=ERROR"))
}

func TestAFileGivenByItsNameIsFollowed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "services")
	write(t, file, serviceText("web", "10.96.0.1"))
	s, _ := watching(t, file)
	rewrite(t, file, serviceText("web", "10.96.0.2"))
	soon(t, func() bool { return clusterIP(s, "web") == "10.96.0.2" }, "renamed into place")
	require.NoError(t, os.Remove(file))
	soon(t, func() bool { return !isServed(s, "web") }, "removed")
	write(t, file, serviceText("web", "10.96.0.3"))
	soon(t, func() bool { return clusterIP(s, "web") == "10.96.0.3" }, "and there again")
}

func TestFoldersOfFoldersAreFollowedIfAsked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a", "web.yaml"), serviceText("web", "10.96.0.1"))
	s, _ := watchingWith(t, &Manifests{Paths: []string{dir}, Recursive: true})
	write(t, filepath.Join(dir, "a", "web.yaml"), serviceText("web", "10.96.0.2"))
	soon(t, func() bool { return clusterIP(s, "web") == "10.96.0.2" }, "a change in a folder")
	write(t, filepath.Join(dir, "b", "c", "api.yaml"), serviceText("api", "10.96.1.1"))
	soon(t, func() bool { return isServed(s, "api") }, "a file in a new folder")
	write(t, filepath.Join(dir, "b", "c", "api.yaml"), serviceText("api", "10.96.1.2"))
	soon(t, func() bool { return clusterIP(s, "api") == "10.96.1.2" }, "which is watched then")
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "b")))
	soon(t, func() bool { return !isServed(s, "api") }, "and may go")
	require.True(t, isServed(s, "web"))
}

func TestAnObjectInTwoFilesFallsBackToTheOther(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml")
	write(t, first, serviceText("web", "10.96.0.1"))
	s, _ := watching(t, dir)
	watched := always(t, s, "web")
	write(t, second, serviceText("web", "10.96.0.2"))
	soon(t, func() bool { return clusterIP(s, "web") == "10.96.0.2" }, "the later file counts")
	require.Len(t, s.Problems(), 2, "the object that is there twice, and the missing Node")
	write(t, first, serviceText("web", "10.96.0.3"))
	settled(t, s, dir)
	require.Equal(t, "10.96.0.2", clusterIP(s, "web"))
	require.NoError(t, os.Remove(second))
	soon(t, func() bool { return clusterIP(s, "web") == "10.96.0.3" }, "the earlier file counts again")
	require.Len(t, s.Problems(), 1)
	require.False(t, watched(), "the object vanished in between")
}

func TestStandardInputIsReadOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _ := watchingWith(t, &Manifests{Paths: []string{"-", dir}, Stdin: strings.NewReader(serviceText("piped", "10.96.0.1"))})
	settled(t, s, dir)
	require.True(t, isServed(s, "piped"))
}

func TestAFileWrittenWithTheSameSizeAndTimeIsRead(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "web.yaml")
	write(t, file, serviceText("web", "10.96.0.1"))
	info, err := os.Stat(file)
	require.NoError(t, err)
	s, _ := watching(t, file)
	write(t, file, serviceText("web", "10.96.0.2"))
	require.NoError(t, os.Chtimes(file, time.Time{}, info.ModTime()))
	soon(t, func() bool { return clusterIP(s, "web") == "10.96.0.2" }, "what an event names is read again")
}
