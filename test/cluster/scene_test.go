package cluster_test

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/nearside/nearside/nft"
	"github.com/nearside/nearside/test/cluster/commits"
	"github.com/nearside/nearside/test/cluster/controlplane"
	"github.com/nearside/nearside/test/cluster/frontends"
	"github.com/nearside/nearside/test/cluster/objects"
)

const namespace = "default"

// followDeadline is how long the kernel may take to follow a change. It bounds
// the test, not the agent: what the agent needs is measured.
const followDeadline = 15 * time.Second

// returnDeadline is how long the agent may take to notice that an API server is
// back: client-go waits longer after every attempt that failed.
const returnDeadline = time.Minute

// scene is a control plane with its nodes, and a record of what the kernel
// commits.
type scene struct {
	ctx    context.Context //nolint:containedctx // ends with the test, as the scene does, or by an interrupt
	plane  *controlplane.ControlPlane
	client kubernetes.Interface
	record *commits.Recorder
	kernel *nft.Conn
}

// newScene starts the control plane. Everything is stopped when the test ends,
// also after a failure or an interrupt.
func newScene(t *testing.T) *scene {
	t.Helper()
	requireRoot(t)
	setUpNetwork(t)
	ctx, cancel := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	t.Cleanup(cancel)
	s := &scene{ctx: ctx}
	var err error
	started := time.Now()
	s.plane, err = controlplane.Start(ctx, controlplane.Options{
		Dir: filepath.Join(t.TempDir(), "controlplane"), Binaries: programs.kube,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.plane.Stop(context.Background())) })
	t.Logf("etcd and kube-apiserver were ready after %s", since(started))

	s.client = newClient(t, s.plane.API)
	s.record, err = commits.Record()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.record.Close()) })
	s.kernel, err = nft.Dial()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.kernel.Close()) })
	return s
}

func newClient(t *testing.T, server *controlplane.APIServer) kubernetes.Interface {
	t.Helper()
	config, err := server.Config()
	require.NoError(t, err)
	config.Timeout = 30 * time.Second
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return client
}

// populate creates the nodes and count services of the mix.
func (s *scene) populate(t *testing.T, count int) {
	t.Helper()
	for _, name := range objects.Nodes {
		_, err := s.client.CoreV1().Nodes().Create(s.ctx, objects.Node(name, objects.Zones[name]), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	started := time.Now()
	require.NoError(t, objects.Each(s.ctx, count, func(ctx context.Context, i int) error {
		return objects.Mix(namespace, i).Create(ctx, s.client)
	}))
	t.Logf("%d services were created in %s", count, since(started))
}

// wanted is where the API's objects want the frontends to lead.
func (s *scene) wanted(t *testing.T) frontends.State {
	t.Helper()
	state, err := frontends.Wanted(s.ctx, s.client, "node-a")
	require.NoError(t, err)
	return state
}

// follow waits until the kernel has what the API's objects want, and returns
// that.
func (s *scene) follow(t *testing.T, deadline time.Duration) frontends.State {
	t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, deadline)
	defer cancel()
	wanted := s.wanted(t)
	for {
		commitsBefore := s.record.Count()
		have, err := frontends.Kernel(ctx)
		require.NoError(t, err)
		diff := wanted.Diff(have)
		if diff == "" {
			return wanted
		}
		// Looking again makes no sense before the kernel has changed.
		if _, err := s.record.Wait(ctx, commitsBefore, func(commits.Commit) bool { return true }); err != nil {
			t.Fatalf("the kernel has not followed within %s (- missing, + too much, ~ differs):\n%s", deadline, diff)
		}
	}
}

// change makes a change of the API's objects and waits until the kernel has
// followed. A change that makes no difference to the kernel is a mistake of the
// test.
func (s *scene) change(t *testing.T, deadline time.Duration, change func() error) {
	t.Helper()
	before := s.wanted(t)
	require.NoError(t, change())
	after := s.follow(t, deadline)
	require.NotEmpty(t, before.Diff(after), "the change must matter to the kernel")
}

// readBack reads nearside's tables of both families.
func (s *scene) readBack(t *testing.T) [2]*nft.Ruleset {
	t.Helper()
	var tables [2]*nft.Ruleset
	for i, family := range []nft.Family{nft.IPv4, nft.IPv6} {
		table, err := s.kernel.ReadBack(s.ctx, family)
		require.NoError(t, err)
		require.NotNil(t, table, "table %s nearside must be there", family)
		tables[i] = table
	}
	return tables
}

// updateService changes a Service by read and write.
func (s *scene) updateService(name string, change func(*corev1.Service)) error {
	services := s.client.CoreV1().Services(namespace)
	service, err := services.Get(s.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	change(service)
	_, err = services.Update(s.ctx, service, metav1.UpdateOptions{})
	return err
}

func since(t time.Time) time.Duration { return time.Since(t).Round(time.Millisecond) }
