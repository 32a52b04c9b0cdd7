package cluster_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nearside/nearside/test/cluster/binaries"
)

// inNamespaceVariable tells TestMain that the process is in the test namespace
// already.
const inNamespaceVariable = "NEARSIDE_CLUSTER_TEST_IN_NAMESPACE"

// coldBuild is what building the control plane takes on two cores when nothing
// is cached, with a margin. go test ends a package after 10 minutes.
const coldBuild = 20 * time.Minute

// programs is what the tests start.
var programs struct {
	kube     string // folder of etcd and kube-apiserver
	nearside string // the agent of this checkout
}

// TestMain builds the programs and then moves the whole test process into a
// network namespace of its own: what the tests start inherits it, nothing they
// do is seen outside, and it vanishes with the last process.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Geteuid() != 0 || flag.Lookup("test.list").Value.String() != "" {
		os.Exit(m.Run()) // requireRoot says what is missing
	}
	kube, err := binaries.OpenKube()
	if err != nil {
		fail(err)
	}
	root, err := binaries.Root()
	if err != nil {
		fail(err)
	}
	programs.kube, programs.nearside = kube.Dir, filepath.Join(root, ".cache", "bin", "nearside")
	if os.Getenv(inNamespaceVariable) == "" {
		fail(prepare(kube)) // returns only with an error
	}
	os.Exit(m.Run())
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "cluster tests:", err)
	os.Exit(1)
}

// prepare builds what the tests start and runs the test process anew in a
// network namespace. It returns only if that fails.
func prepare(kube *binaries.Kube) error {
	ctx := context.Background()
	needed := []binaries.Name{binaries.Etcd, binaries.KubeAPIServer}
	if missing := kube.Missing(needed...); len(missing) > 0 {
		limit := flag.Lookup("test.timeout").Value.(flag.Getter).Get().(time.Duration)
		if limit != 0 && limit < coldBuild {
			return fmt.Errorf("%v of Kubernetes %s must be built, which may take longer than the time limit of this test (%s); run test/apiserver.sh build first",
				missing, kube.Version, limit)
		}
	}
	if err := kube.Build(ctx, os.Stderr, needed...); err != nil {
		return err
	}
	if err := binaries.BuildNearside(ctx, os.Stderr, programs.nearside); err != nil {
		return err
	}
	return execInNamespace(append(os.Environ(), inNamespaceVariable+"=1"))
}

// execInNamespace replaces this process by itself in a new network namespace:
// it keeps its process id, so that go test goes on watching it, and all its
// threads are in the namespace, which unshare alone cannot give a Go program.
func execInNamespace(environ []string) error {
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("make a network namespace: %w", err)
	}
	if err := unix.Exec("/proc/self/exe", os.Args, environ); err != nil {
		return fmt.Errorf("run the tests in the network namespace: %w", err)
	}
	return nil
}

// requireRoot skips a test that needs root, or fails it under CI.
func requireRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	const reason = "needs root for a network namespace and nftables; run it with sudo"
	if os.Getenv("CI") == "true" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}
