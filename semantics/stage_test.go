package semantics

import (
	"context"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nearside/nearside/agent"
	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/internal/packettest"
	"github.com/nearside/nearside/nft"
	"github.com/nearside/nearside/selector"
)

// patience is how long a round may take on a machine that is very busy.
const patience = 30 * time.Second

// stage is a node on which an agent runs, and what it knows.
type stage struct {
	*packettest.Lab
	family nft.Family
	// twin tells that objects are to be turned into those of the other family.
	twin bool

	objects map[string]runtime.Object
	source  *source
	options agent.Options
	rounds  *rounds
	step    int
	stop    func()
}

// source hands the agent's store to the test, which fills it.
type source struct{ stores chan *informer.Store }

func (src *source) Run(ctx context.Context, store *informer.Store) error {
	src.stores <- store
	<-ctx.Done()
	return nil
}

// rounds tells when a change of objects is in the kernel: with every change
// goes one of a service of the test's own, whose selector is asked in the same
// round.
type rounds struct {
	mu     sync.Mutex
	asked  string
	done   chan string
	errors []error
}

const (
	markerPolicy = "Marker"
	markerIP     = "10.96.255.254"
	markerTwin   = "fd00:10:96::255:254"
)

func (r *rounds) Select(req *selector.Request) selector.Selection {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = req.Port.Name
	return selector.Cluster{}.Select(req)
}

func (r *rounds) after(round agent.Round) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := round.Err(); err != nil {
		r.errors = append(r.errors, err)
	}
	if r.asked != "" {
		r.done <- r.asked
		r.asked = ""
	}
}

func marker(step int) *corev1.Service {
	s := service("marker", at(markerIP, markerTwin), annotated("nearside.dev/policy", markerPolicy))
	s.Namespace = "semantics"
	s.Spec.Ports = []corev1.ServicePort{{Name: "step-" + strconv.Itoa(step), Protocol: corev1.ProtocolTCP, Port: 1}}
	return s
}

// newStage makes a node whose agent knows these objects.
func newStage(t *testing.T, lab *packettest.Lab, f nft.Family, r *row) *stage {
	t.Helper()
	s := &stage{Lab: lab, family: f, twin: f == nft.IPv6 && !r.dualStack, objects: map[string]runtime.Object{}}
	s.keep(nodeA(), nodeB(), nodeC())
	s.keep(r.given...)
	s.start(t, r.options)
	t.Cleanup(func() {
		s.stop()
		s.Forget(t)
		s.Node.Must(t, func() error {
			conn, err := nft.Dial()
			if err != nil {
				return err
			}
			defer func() { _ = conn.Close() }()
			_, err = conn.Cleanup(context.Background())
			return err
		})
	})
	return s
}

// start starts an agent, which has done its first round when start returns.
func (s *stage) start(t *testing.T, options func(*agent.Options)) {
	t.Helper()
	s.begin(t, options)
	s.source.fill(t, s)
}

// begin starts an agent whose list of objects is not there yet.
func (s *stage) begin(t *testing.T, options func(*agent.Options)) {
	t.Helper()
	pods := netip.MustParsePrefix("10.1.0.0/16")
	s.rounds = &rounds{done: make(chan string, 1000)}
	s.source = &source{stores: make(chan *informer.Store, 1)}
	opts := agent.Options{
		NodeName: "node-a", Source: s.source, MinSyncPeriod: -1,
		ClusterCIDRs: []netip.Prefix{pods, packettest.TwinPrefix(pods)},
		Selectors:    map[string]selector.Selector{markerPolicy: s.rounds},
		OnRound:      s.rounds.after,
	}
	for _, name := range selector.Names() {
		opts.Selectors[name], _ = selector.Builtin(name)
	}
	if options != nil {
		options(&opts)
	}
	a, err := agent.New(opts)
	require.NoError(t, err)
	s.options = opts
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Node.Do(func() error { return a.Run(ctx) }) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
		require.Empty(t, s.rounds.errors, "rounds that failed")
	})
}

// fill gives the agent all objects and waits for the kernel.
func (src *source) fill(t *testing.T, s *stage) {
	t.Helper()
	var store *informer.Store
	select {
	case store = <-src.stores:
	case <-time.After(patience):
		require.FailNow(t, "the agent does not ask for objects")
	}
	s.step++
	objects := []runtime.Object{marker(s.step)}
	for _, o := range s.objects {
		objects = append(objects, o)
	}
	require.NoError(t, store.Replace(objects...))
	src.stores <- store // for the next time
	s.await(t)
}

func (s *stage) await(t *testing.T) {
	t.Helper()
	want := "step-" + strconv.Itoa(s.step)
	late := time.After(patience)
	for {
		select {
		case got := <-s.rounds.done:
			if got == want {
				return
			}
		case <-late:
			require.FailNow(t, "the agent does not carry out a change")
		}
	}
}

// keep takes objects over into those there are, in this stage's family.
func (s *stage) keep(objects ...runtime.Object) {
	for _, o := range objects {
		if s.twin {
			o = twinObject(o)
		}
		s.objects[nameOf(o)] = o
	}
}

// change adds or replaces objects and waits until the kernel has them.
func (s *stage) change(t *testing.T, objects ...runtime.Object) {
	t.Helper()
	s.keep(objects...)
	s.source.fill(t, s)
}

// remove deletes objects and waits until the kernel has noticed.
func (s *stage) remove(t *testing.T, objects ...runtime.Object) {
	t.Helper()
	for _, o := range objects {
		require.Contains(t, s.objects, nameOf(o))
		delete(s.objects, nameOf(o))
	}
	s.source.fill(t, s)
}

// open sends the first packet of a connection, written in IPv4.
func (s *stage) open(t *testing.T, p packettest.Probe) packettest.Outcome {
	t.Helper()
	if s.family == nft.IPv6 {
		p = p.Twin()
	}
	return s.Probe(t, p)
}

// addr is an address and port in the stage's family.
func (s *stage) addr(v4 string) netip.AddrPort {
	a := netip.MustParseAddrPort(v4)
	if s.family == nft.IPv6 {
		a = packettest.TwinPort(a)
	}
	return a
}

func TestMain(m *testing.M) { os.Exit(m.Run()) }
