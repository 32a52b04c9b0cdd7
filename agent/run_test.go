package agent

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/nft"
)

// runBench is an agent that runs on a scripted kernel in the virtual time of a
// synctest bubble.
type runBench struct {
	*Agent
	t       *testing.T
	k       *scriptedKernel
	rounds  []Round
	began   time.Time
	stop    context.CancelFunc
	stopped chan error
}

func startRun(t *testing.T, opts Options, source informer.Source) *runBench {
	t.Helper()
	b := &runBench{t: t, k: newScriptedKernel(), stopped: make(chan error, 1)}
	opts.NodeName, opts.Source, opts.Kernel = "node-a", source, b.k
	opts.OnRound = func(r Round) { b.rounds = append(b.rounds, r) }
	if opts.Families == nil {
		opts.Families = nft.Families
	}
	a, err := New(opts)
	require.NoError(t, err)
	b.Agent, b.k.agent = a, a
	var ctx context.Context
	ctx, b.stop = context.WithCancel(t.Context())
	b.began = time.Now()
	go func() { b.stopped <- a.Run(ctx) }()
	synctest.Wait()
	return b
}

// end stops the agent and returns what Run returned.
func (b *runBench) end() error {
	b.stop()
	return <-b.stopped
}

// since lists when the rounds so far began.
func (b *runBench) since() (at []time.Duration) {
	for _, r := range b.rounds {
		at = append(at, r.Start.Sub(b.began))
	}
	return at
}

func (b *runBench) set(objects ...runtime.Object) {
	require.NoError(b.t, b.store.Set(objects...))
	synctest.Wait()
}

// slowList lists its objects after a while, and half of them before.
type slowList struct {
	fill
	after time.Duration
}

func (l slowList) Run(ctx context.Context, s *informer.Store) error {
	if err := s.Set(l.fill[:len(l.fill)/2]...); err != nil {
		return err
	}
	if !pause(ctx, l.after) {
		return nil
	}
	return l.fill.Run(ctx, s)
}

func TestNothingIsWrittenBeforeTheFirstCompleteList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := startRun(t, Options{}, slowList{fill: threeServices(), after: time.Minute})
		time.Sleep(59 * time.Second)
		synctest.Wait()
		require.Empty(t, b.k.applied())
		require.True(t, b.Health().Healthy, "starting up is healthy")
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, []time.Duration{time.Minute}, b.since())
		require.Equal(t, 3, b.rounds[0].Services)
		require.NoError(t, b.end())
	})
}

func TestUnreadableTableDoesNotLetAPartOfTheListThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := startRun(t, Options{}, fill{})
		require.NoError(t, b.end())
		k := newScriptedKernel()
		k.unreadable = func(f nft.Family) error {
			if f == nft.IPv6 {
				return &nft.Error{Op: "list sets", Errno: 5}
			}
			return nil
		}
		a, err := New(Options{
			NodeName: "node-a", Kernel: k, Families: nft.Families,
			Source: slowList{fill: threeServices(), after: time.Minute},
		})
		require.NoError(t, err)
		k.agent = a
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		time.Sleep(50 * time.Second)
		synctest.Wait()
		require.Empty(t, k.applied(), "retries must wait for the first list too")
		k.mu.Lock()
		k.unreadable = nil
		k.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Len(t, k.applied(), 2)
		require.Contains(t, k.applied()[0].text+k.applied()[1].text, "10.96.0.3")
		stop()
		require.NoError(t, <-done)
	})
}

func TestAnEmptyClusterIsWrittenToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := startRun(t, Options{}, fill{})
		require.Len(t, b.rounds, 1, "what an earlier process left has to go")
		require.NoError(t, b.end())
	})
}

func TestFirstChangeAtOnceAndBurstsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := startRun(t, Options{MinSyncPeriod: 2 * time.Second}, fill(threeServices()))
		time.Sleep(10 * time.Second)
		b.set(sliceObject("a", "10.0.0.11@node-a"))
		require.Equal(t, []time.Duration{0, 10 * time.Second}, b.since(), "a change after a quiet time is not delayed")
		for i := range 20 {
			b.set(sliceObject("a", fmt.Sprintf("10.0.1.%d@node-a", i+1)))
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.Equal(t, []time.Duration{0, 10 * time.Second, 12 * time.Second}, b.since(), "a burst costs one round")
		require.NoError(t, b.end())
	})
}

func TestFailuresAreRetriedLaterAndLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := startRun(t, Options{}, fill(threeServices()))
		time.Sleep(10 * time.Second)
		b.k.mu.Lock()
		b.k.refuse = func(*nft.Transaction) error { return &nft.Error{Op: "add element", Errno: 12} }
		b.k.mu.Unlock()
		b.set(sliceObject("a", "10.0.0.11@node-a"))
		time.Sleep(95 * time.Second)
		synctest.Wait()
		seconds := func(n ...int) (ds []time.Duration) {
			for _, s := range n {
				ds = append(ds, time.Duration(s)*time.Second)
			}
			return ds
		}
		require.Equal(t, seconds(0, 10, 11, 13, 17, 25, 41, 71, 101), b.since())
		for _, r := range b.rounds[2:] {
			require.True(t, r.Families[0].Full)
			require.Error(t, r.Err())
		}
		require.False(t, b.Health().Healthy, "a change has waited for more than a minute")
		require.Error(t, b.Health().Families[nft.IPv4].Err)

		b.k.mu.Lock()
		b.k.refuse = nil
		b.k.mu.Unlock()
		time.Sleep(35 * time.Second)
		synctest.Wait()
		require.Equal(t, 131*time.Second, b.since()[9])
		require.NoError(t, b.rounds[9].Err())
		require.True(t, b.Health().Healthy)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Len(t, b.rounds, 10, "an idle agent does nothing")
		require.True(t, b.Health().Healthy, "idle is healthy")
		require.NoError(t, b.end())
	})
}

func TestFailureShowsAtOnceAndUnhealthyFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := startRun(t, Options{HealthTimeout: 20 * time.Second}, slowList{fill: threeServices(), after: time.Second})
		b.k.mu.Lock()
		b.k.refuse = func(*nft.Transaction) error { return &nft.Error{Op: "add table", Errno: 12} }
		b.k.mu.Unlock()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Error(t, b.Health().Families[nft.IPv4].Err)
		require.True(t, b.Health().Healthy, "a few attempts are allowed")
		time.Sleep(20 * time.Second)
		synctest.Wait()
		h := b.Health()
		require.False(t, h.Healthy, "a first round that fails is no better than a later one")
		require.Equal(t, b.began.Add(time.Second), h.LastUpdated)
		require.NoError(t, b.end())
	})
}

func TestRunEndsWhenTheSourceCannotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("no such folder")
		b := startRun(t, Options{}, sourceFunc(func(context.Context, *informer.Store) error { return broken }))
		require.ErrorIs(t, <-b.stopped, broken)
		require.Empty(t, b.k.applied())
		b.stop()
	})
}

func TestRunGoesOnAfterASourceThatIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := startRun(t, Options{}, sourceFunc(func(_ context.Context, s *informer.Store) error {
			return s.Replace(threeServices()...)
		}))
		require.Len(t, b.rounds, 1)
		b.set(sliceObject("a", "10.0.0.11@node-a"))
		time.Sleep(time.Second)
		synctest.Wait()
		require.Len(t, b.rounds, 2)
		require.NoError(t, b.end())
	})
}

func TestRunFailsAtOnceWhereNoTableCanBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newScriptedKernel()
		k.unreadable = func(nft.Family) error { return &nft.Error{Op: "list tables", Errno: 1} }
		a, err := New(Options{NodeName: "node-a", Source: fill{}, Kernel: k, Families: nft.Families})
		require.NoError(t, err)
		require.ErrorIs(t, a.Run(t.Context()), nft.ErrPermission)
	})
}

func TestRunWithoutSource(t *testing.T) {
	a, err := New(Options{NodeName: "node-a"})
	require.NoError(t, err)
	require.ErrorContains(t, a.Run(t.Context()), "options have no source")
	_, err = a.Once(t.Context())
	require.ErrorContains(t, err, "options have no source")
	_, err = a.Render(t.Context())
	require.ErrorContains(t, err, "options have no source")
}

type sourceFunc func(context.Context, *informer.Store) error

func (f sourceFunc) Run(ctx context.Context, s *informer.Store) error { return f(ctx, s) }

func TestOnceListsFromAnySource(t *testing.T) {
	k := newScriptedKernel()
	var steps []Step
	a, err := New(Options{
		NodeName: "node-a", Source: fill(threeServices()), Kernel: k, Families: nft.Families,
		OnProgress: func(p Progress) { steps = append(steps, p.Step) },
	})
	require.NoError(t, err)
	k.agent = a
	r, err := a.Once(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, r.Services)
	require.Len(t, k.applied(), 2)
	require.Equal(t, []Step{StepLoad, StepSelect, StepRead, StepWrite, StepRead, StepWrite}, steps)
}

func TestOnceTouchesNothingWhenTheSourceFails(t *testing.T) {
	k := newScriptedKernel()
	broken := errors.New("line 3: bad document")
	a, err := New(Options{
		NodeName: "node-a", Kernel: k, Families: nft.Families,
		Source: sourceFunc(func(context.Context, *informer.Store) error { return broken }),
	})
	require.NoError(t, err)
	_, err = a.Once(t.Context())
	require.ErrorIs(t, err, broken)
	require.Empty(t, k.applied())
}
