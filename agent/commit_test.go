package agent

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/nft"
)

// commitBench is an agent with three services on a scripted kernel and a clock
// that the test turns.
type commitBench struct {
	*Agent
	t   *testing.T
	k   *scriptedKernel
	now time.Time
}

func newCommitBench(t *testing.T) *commitBench {
	b := &commitBench{Agent: newTestAgent(t, Options{}, threeServices()...), t: t, k: newScriptedKernel(), now: time.Now()}
	b.k.agent = b.Agent
	b.Agent.now = func() time.Time { return b.now }
	return b
}

// begin does the first round.
func (b *commitBench) begin() Round { return b.sync(take(b.t, b.Agent)) }

func (b *commitBench) sync(c informer.Changes) Round { return b.round(b.t.Context(), b.k, c) }

// change moves the only endpoint of a service and does a round.
func (b *commitBench) change(service, endpoint string) Round {
	require.NoError(b.t, b.store.Set(sliceObject(service, endpoint)))
	return b.sync(take(b.t, b.Agent))
}

func (b *commitBench) texts(f nft.Family) (texts []string) {
	for _, tx := range b.k.applied() {
		if tx.family == f && tx.err == nil {
			texts = append(texts, tx.text)
		}
	}
	return texts
}

func TestFirstRoundIsFullAndLaterOnesArePartial(t *testing.T) {
	b := newCommitBench(t)
	first := b.begin()
	require.NoError(t, first.Err())
	require.Equal(t, 3, first.Services)
	require.Equal(t, 3, first.Endpoints)
	require.Positive(t, first.Changes())
	for _, f := range first.Families {
		require.True(t, f.Full)
	}
	reads := b.k.reads
	second := b.change("a", "10.0.0.9@node-a")
	require.NoError(t, second.Err())
	require.Equal(t, 1, second.Selected)
	for _, f := range second.Families {
		require.False(t, f.Full)
	}
	require.Equal(t, reads, b.k.reads, "a partial round must not read the kernel's table")
	texts := b.texts(nft.IPv4)
	require.Contains(t, texts[1], "10.0.0.9")
	require.NotContains(t, texts[1], "10.96.0.3", "other services must not be touched")
	require.Len(t, b.texts(nft.IPv6), 1, "nothing changed there")
}

func TestRoundWithoutChangeSendsNothing(t *testing.T) {
	b := newCommitBench(t)
	b.begin()
	r := b.sync(informer.Changes{Services: []informer.Name{shop("a")}})
	require.NoError(t, r.Err())
	require.Zero(t, r.Changes())
	require.Len(t, b.texts(nft.IPv4), 1)
}

func TestRefusedPartialTransactionIsRepairedAtOnce(t *testing.T) {
	b := newCommitBench(t)
	b.begin()
	refused := 0
	b.k.refuse = func(*nft.Transaction) error {
		if refused++; refused == 1 {
			return refusal("10.96.0.1:80", syscall.ENOENT)
		}
		return nil
	}
	r := b.change("a", "10.0.0.9@node-a")
	require.NoError(t, r.Err())
	f := r.Families[0]
	require.True(t, f.Full, "somebody else may have changed the table")
	require.ErrorIs(t, f.Repaired, nft.ErrOutOfStep)
	require.Zero(t, f.Quarantined, "the service must not be blamed for what a read-back repairs")
}

func TestServiceTheKernelRefusesGoesIntoQuarantineAlone(t *testing.T) {
	b := newCommitBench(t)
	bad := func(tx *nft.Transaction) error {
		if tx.Family == nft.IPv4 && strings.Contains(tx.Text(), "10.0.0.66") {
			return refusal("10.96.0.1:80", syscall.EINVAL)
		}
		return nil
	}
	b.begin()
	b.k.refuse = bad
	require.NoError(t, b.store.Set(sliceObject("a", "10.0.0.66@node-a"), sliceObject("b", "10.0.0.7@node-a")))
	r := b.sync(take(t, b.Agent))
	require.NoError(t, r.Err(), "the others must not wait")
	require.Equal(t, 1, r.Families[0].Quarantined)
	require.Len(t, r.Notices, 1)
	require.Equal(t, Quarantined, r.Notices[0].Reason)
	require.Equal(t, "shop/a", r.Notices[0].Object)
	require.Contains(t, r.Notices[0].Message, "invalid argument")
	last := b.texts(nft.IPv4)[1]
	require.Contains(t, last, "10.0.0.7", "service b has its change")
	require.True(t, b.Health().Healthy)
	require.Equal(t, 1, b.Health().Families[nft.IPv4].Quarantined)

	// Its time comes, and it is still refused: the wait doubles, nothing is read.
	b.now = b.now.Add(firstRetry)
	reads := b.k.reads
	r = b.sync(informer.Changes{})
	require.NoError(t, r.Err())
	require.Equal(t, 1, r.Selected)
	require.Equal(t, 1, r.Families[0].Quarantined)
	require.Empty(t, r.Notices, "what lasts is told once")
	require.Equal(t, reads, b.k.reads, "a trial must not cost a full round")
	require.Equal(t, b.now.Add(2*firstRetry), b.nextAttempt())

	// The object is corrected, which is a trial at once.
	r = b.change("a", "10.0.0.8@node-a")
	require.NoError(t, r.Err())
	require.Zero(t, r.Families[0].Quarantined)
	require.True(t, b.nextAttempt().IsZero())
	texts := b.texts(nft.IPv4)
	require.Contains(t, texts[len(texts)-1], "10.0.0.8")
}

func TestQuarantineInTheFirstRound(t *testing.T) {
	b := newCommitBench(t)
	b.k.refuse = func(tx *nft.Transaction) error {
		if strings.Contains(tx.Text(), "10.96.0.3 .") {
			return refusal("10.96.0.3:80", syscall.EINVAL)
		}
		return nil
	}
	r := b.begin()
	require.NoError(t, r.Err())
	require.Equal(t, 1, r.Families[0].Quarantined)
	require.Contains(t, b.texts(nft.IPv4)[0], "10.96.0.1")
}

func TestFailureOfOneFamilyIsNotTheOthers(t *testing.T) {
	b := newCommitBench(t)
	b.begin()
	b.k.refuse = func(tx *nft.Transaction) error {
		if tx.Family == nft.IPv6 {
			return &nft.Error{Op: "add chain", Object: "chain x", Errno: syscall.ENOMEM}
		}
		return nil
	}
	require.NoError(t, b.store.Set(serviceObject("d", "10.96.0.4", "fd00:96::4")))
	r := b.sync(take(t, b.Agent))
	require.NoError(t, r.Families[0].Err)
	require.ErrorIs(t, r.Families[1].Err, syscall.ENOMEM)
	require.Contains(t, b.texts(nft.IPv4)[1], "10.96.0.4")
	require.Error(t, b.Health().Families[nft.IPv6].Err)
	require.NoError(t, b.Health().Families[nft.IPv4].Err)

	// Before its time, the failed family is left alone and the other goes on.
	attempts := len(b.k.applied())
	r = b.change("a", "10.0.0.9@node-a")
	require.True(t, r.Families[1].Deferred)
	require.False(t, r.Families[0].Deferred)
	require.Len(t, b.k.applied(), attempts+1)

	// When its time has come it catches up with everything, in a full round.
	b.k.refuse = nil
	b.now = b.nextAttempt()
	r = b.sync(informer.Changes{})
	require.NoError(t, r.Err())
	require.True(t, r.Families[1].Full)
	require.Contains(t, b.texts(nft.IPv6)[1], "fd00:96::4")
	require.True(t, b.nextAttempt().IsZero())
}

func TestTransactionsThatOthersOvertakeAreRepeated(t *testing.T) {
	b := newCommitBench(t)
	stale := 0
	b.k.refuse = func(*nft.Transaction) error {
		if stale++; stale <= mostStale {
			return &nft.Error{Op: "begin transaction", Errno: syscall.ERESTART}
		}
		return nil
	}
	r := b.begin()
	require.NoError(t, r.Err())
	require.Len(t, b.k.applied(), mostStale+2, "three stale ones, one that was taken, one for the other family")
}

func TestRefusalOfEverythingEnds(t *testing.T) {
	b := newCommitBench(t)
	b.k.refuse = func(*nft.Transaction) error { return refusal("10.96.0.1:80", syscall.EINVAL) }
	r := b.begin()
	require.Error(t, r.Err())
	require.LessOrEqual(t, len(b.k.applied()), 2*mostAttempts)
}

func TestMissingPermissionBlamesNobody(t *testing.T) {
	b := newCommitBench(t)
	b.k.refuse = func(*nft.Transaction) error { return refusal("10.96.0.1:80", syscall.EPERM) }
	r := b.begin()
	require.ErrorIs(t, r.Err(), nft.ErrPermission)
	require.Zero(t, r.Families[0].Quarantined)
	require.Len(t, b.k.applied(), 2, "one attempt for each family")
}

func TestTransactionIsFinishedWhenTheAgentIsToldToStop(t *testing.T) {
	b := newCommitBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	k := &stoppingKernel{scriptedKernel: b.k, stop: cancel}
	r := b.round(ctx, k, take(t, b.Agent))
	require.NoError(t, r.Families[0].Err)
	require.NoError(t, k.seen, "the transaction must not see the end of the agent's context")
}

// stoppingKernel tells the agent to stop while a transaction is under way.
type stoppingKernel struct {
	*scriptedKernel
	stop context.CancelFunc
	seen error
}

func (k *stoppingKernel) Apply(ctx context.Context, tx *nft.Transaction) error {
	k.stop()
	k.seen = errors.Join(k.seen, ctx.Err())
	return k.scriptedKernel.Apply(ctx, tx)
}
