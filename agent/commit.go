package agent

import (
	"context"
	"errors"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/nft"
)

const (
	// applyTimeout bounds one transaction, so that a kernel that never answers
	// becomes an error. It is far above what half a million endpoints take.
	applyTimeout = time.Minute
	// mostAttempts bounds the transactions of one round: each but the last
	// either puts a service into quarantine or turns a partial round into a full
	// one.
	mostAttempts = 16
	// mostStale is how often a round gives way to other programs that write
	// rules at the same time, before it writes without looking back.
	mostStale = 3
)

// commit carries the table's changes into the kernel: diff, then apply. When
// the kernel refuses, it finds out what can be done at once, and tries again:
// a partial round becomes a full one, because somebody may have changed the
// table; in a full one the service that is to blame goes into quarantine.
func (a *Agent) commit(ctx context.Context, k Kernel, f *family, r *Round) FamilyRound {
	began := a.now()
	fr := FamilyRound{Family: f.id, Full: f.full}
	if f.retry.waiting(began) {
		fr.Deferred, fr.Quarantined = true, f.quarantine.size()
		return fr
	}
	stale := 0
	for attempt := 1; ; attempt++ {
		n, err := a.attempt(ctx, k, f, stale >= mostStale)
		if err == nil {
			f.committed()
			fr.Changes = n
			break
		}
		if errors.Is(err, nft.ErrStale) {
			stale++
		}
		if attempt == mostAttempts || ctx.Err() != nil || !a.remedy(f, err, &fr, r) {
			f.full = true
			f.retry.fail(a.now())
			fr.Err = err
			break
		}
	}
	fr.End = a.now()
	fr.Duration = fr.End.Sub(began)
	fr.Quarantined = f.quarantine.size()
	return fr
}

// attempt makes one transaction and applies it. Once begun, a transaction is
// finished even if the agent is told to stop. An unconditional one is carried
// out even if other programs have written rules of theirs meanwhile.
func (a *Agent) attempt(ctx context.Context, k Kernel, f *family, unconditional bool) (changes int, err error) {
	if f.full {
		a.progress(Progress{Step: StepRead, Family: f.id})
	}
	tx, err := f.diff(ctx, k)
	if err != nil || tx == nil {
		return 0, err
	}
	if unconditional {
		tx = tx.Unconditional()
	}
	a.progress(Progress{Step: StepWrite, Family: f.id})
	applyCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyTimeout)
	defer cancel()
	return tx.Size(), k.Apply(applyCtx, tx)
}

// remedy does what makes another attempt worth while, and reports false if
// there is nothing.
func (a *Agent) remedy(f *family, err error, fr *FamilyRound, r *Round) bool {
	name, blamed := culprit(f.table, err)
	switch {
	case errors.Is(err, nft.ErrStale):
		return true
	case blamed && (f.full || f.quarantine.tried(name)):
		f.table.Delete(name.String())
		if f.quarantine.add(name, err, a.now()) {
			r.Notices = append(r.Notices, noticeOfQuarantine(name, f.id, err))
		}
		return true
	case !f.full:
		f.full, fr.Full, fr.Repaired = true, true, err
		return true
	}
	return false
}

// notToBlame are refusals that say nothing about the object they come with: any
// other object would have met them as well.
var notToBlame = []error{
	nft.ErrPermission, nft.ErrStale, nft.ErrUncertain, unix.ENOMEM, unix.EMSGSIZE, unix.EAGAIN,
}

// culprit returns the service that the kernel's refusal is about, if it is
// about one.
func culprit(t *nft.Table, err error) (informer.Name, bool) {
	var refusal *nft.Error
	if !errors.As(err, &refusal) || !refusal.Frontend.IsValid() {
		return informer.Name{}, false
	}
	for _, innocent := range notToBlame {
		if errors.Is(err, innocent) {
			return informer.Name{}, false
		}
	}
	owner, ok := t.OwnerOf(refusal.Frontend, refusal.Protocol)
	if !ok {
		return informer.Name{}, false
	}
	namespace, name, ok := strings.Cut(owner, "/")
	return informer.Name{Namespace: namespace, Name: name}, ok
}
