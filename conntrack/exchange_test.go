package conntrack

import (
	"context"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// scripted is a kernel that answers as a test has it, for what the real one
// cannot be made to do at will.
type scripted struct {
	// answer returns the datagrams that a message is answered by.
	answer  func(m message) [][]byte
	errs    []error // what receive fails with before anything else
	pending [][]byte
	asked   map[uint16]int // messages by type
}

func (s *scripted) send(b []byte) error {
	eachMessage(b, func(m message) {
		if s.asked == nil {
			s.asked = map[uint16]int{}
		}
		s.asked[m.typ&0xff]++
		s.pending = append(s.pending, s.answer(m)...)
	})
	return nil
}

func (s *scripted) receive(b []byte) (int, error) {
	if len(s.errs) > 0 {
		err := s.errs[0]
		s.errs = s.errs[1:]
		return 0, err
	}
	if len(s.pending) == 0 {
		return 0, unix.EAGAIN
	}
	n := copy(b, s.pending[0])
	s.pending = s.pending[1:]
	return n, nil
}

func (s *scripted) close() error { return nil }

// said is a message that the kernel sends.
func said(typ, flags uint16, sequence uint32, body []byte) []byte {
	b := slices.Concat(make([]byte, unix.NLMSG_HDRLEN), body)
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	binary.NativeEndian.PutUint16(b[4:], typ)
	binary.NativeEndian.PutUint16(b[6:], flags)
	binary.NativeEndian.PutUint32(b[8:], sequence)
	return b
}

// outcome is the body of the kernel's last word.
func outcome(errno unix.Errno) []byte {
	return binary.NativeEndian.AppendUint32(nil, uint32(-int32(errno)))
}

// staleFlow is a flow as the kernel lists it.
func staleFlow() []byte {
	return madeUp{protocol: protocolUDP, client: at("10.1.1.50:40000"), dialled: at("10.96.0.10:53"), answering: at("10.1.2.5:5353")}.message()[unix.NLMSG_HDRLEN:]
}

var gone = []Frontend{frontend("10.96.0.10:53")}

// lists answers requests for flows with n stale ones, and deletions with errno.
func lists(n int, flags uint16, errno unix.Errno) func(m message) [][]byte {
	return func(m message) [][]byte {
		switch {
		case m.typ&0xff == msgGet:
			var b []byte
			for range n {
				b = append(b, said(m.typ, unix.NLM_F_MULTI|flags, m.sequence, staleFlow())...)
			}
			return [][]byte{append(b, said(unix.NLMSG_DONE, unix.NLM_F_MULTI, m.sequence, outcome(0))...)}
		case errno != 0 || m.flags&unix.NLM_F_ACK != 0:
			return [][]byte{said(unix.NLMSG_ERROR, 0, m.sequence, outcome(errno))}
		}
		return nil
	}
}

func TestACleanOverManyBatches(t *testing.T) {
	kernel := &scripted{answer: lists(2*batchSize+1, 0, 0)}
	result, err := newCleaner(kernel).Clean(context.Background(), gone, nil)
	require.NoError(t, err)
	require.Equal(t, Result{Deleted: 2*batchSize + 1, Looked: 2*batchSize + 1}, result)
	require.Equal(t, 2*batchSize+1, kernel.asked[msgDelete])
}

func TestFlowsThatAreGoneByThemselvesAreNoError(t *testing.T) {
	result, err := newCleaner(&scripted{answer: lists(batchSize+3, 0, unix.ENOENT)}).Clean(context.Background(), gone, nil)
	require.NoError(t, err)
	require.Equal(t, Result{Looked: batchSize + 3}, result)
}

func TestARefusedDeletionIsAnError(t *testing.T) {
	_, err := newCleaner(&scripted{answer: lists(1, 0, unix.EBUSY)}).Clean(context.Background(), gone, nil)
	require.ErrorIs(t, err, unix.EBUSY)
	require.ErrorContains(t, err, "delete stale UDP flows")
}

func TestWithoutThePrivilegeTheErrorSaysWhatToDo(t *testing.T) {
	refuse := func(m message) [][]byte {
		return [][]byte{said(unix.NLMSG_ERROR, 0, m.sequence, outcome(unix.EPERM))}
	}
	_, err := newCleaner(&scripted{answer: refuse}).Clean(context.Background(), gone, nil)
	require.ErrorIs(t, err, ErrPermission)
	require.EqualError(t, err, "list IPv4 UDP flows to 10.96.0.10:53: operation not permitted: "+ErrPermission.Error())

	_, _, err = newCleaner(&scripted{answer: refuse}).Count(context.Background())
	require.ErrorIs(t, err, ErrPermission)
}

func TestAListThatTheKernelInterruptsIsBegunAgain(t *testing.T) {
	for name, broken := range map[string]func(m message) [][]byte{
		"by a flag": lists(1, unix.NLM_F_DUMP_INTR, 0),
		"by an error": func(m message) [][]byte {
			return [][]byte{said(unix.NLMSG_DONE, unix.NLM_F_MULTI, m.sequence, outcome(unix.EINTR))}
		},
	} {
		t.Run(name, func(t *testing.T) {
			kernel := &scripted{}
			kernel.answer = func(m message) [][]byte {
				if kernel.asked[msgGet] < 3 {
					return broken(m)
				}
				return lists(2, 0, 0)(m)
			}
			result, err := newCleaner(kernel).Clean(context.Background(), gone, nil)
			require.NoError(t, err)
			require.Equal(t, 2, result.Deleted)
			require.Equal(t, 3, kernel.asked[msgGet])
		})
	}
}

func TestAListThatIsAlwaysInterruptedDeletesWhatItFoundAndSaysSo(t *testing.T) {
	kernel := &scripted{answer: lists(1, unix.NLM_F_DUMP_INTR, 0)}
	result, err := newCleaner(kernel).Clean(context.Background(), gone, nil)
	require.ErrorIs(t, err, ErrInterrupted)
	require.Equal(t, Result{Deleted: 1, Looked: attempts}, result)
}

func TestSignalsAndLostAnswersDoNotEndAnExchange(t *testing.T) {
	kernel := &scripted{answer: lists(1, 0, 0), errs: []error{unix.EINTR, unix.ENOBUFS}}
	result, err := newCleaner(kernel).Clean(context.Background(), gone, nil)
	require.NoError(t, err)
	require.Equal(t, 1, result.Deleted)
}

func TestAnswersToAnEarlierExchangeAreDropped(t *testing.T) {
	kernel := &scripted{answer: lists(1, 0, 0)}
	c := newCleaner(kernel)
	c.next = 0 // numbers wrap around, too
	kernel.pending = [][]byte{
		said(unix.NLMSG_ERROR, 0, ^uint32(0), outcome(unix.EBUSY)),
		said(unix.NLMSG_DONE, unix.NLM_F_MULTI, ^uint32(0), outcome(0)),
	}
	result, err := c.Clean(context.Background(), gone, nil)
	require.NoError(t, err)
	require.Equal(t, 1, result.Deleted)
}

func TestAKernelThatDoesNotAnswerIsAnError(t *testing.T) {
	silent := func(message) [][]byte { return nil }
	_, err := newCleaner(&scripted{answer: silent}).Clean(context.Background(), gone, nil)
	require.ErrorIs(t, err, errNoAnswer)
}

func TestNothingIsAskedWhereNothingChanged(t *testing.T) {
	c := newCleaner(&scripted{answer: func(message) [][]byte { panic("asked") }})
	for _, changed := range [][]Frontend{nil, {frontend("0.0.0.0:30053")}, {{}}} {
		result, err := c.Clean(context.Background(), changed, nil)
		require.NoError(t, err)
		require.Zero(t, result)
	}
}

func TestNothingIsAskedAfterTheContextHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	kernel := &scripted{answer: lists(1, 0, 0)}
	_, err := newCleaner(kernel).Clean(ctx, gone, nil)
	require.ErrorIs(t, err, context.Canceled)
	_, _, err = newCleaner(kernel).Count(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, kernel.asked)
}

func TestNoMoreIsDeletedAfterTheContextHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	kernel := &scripted{}
	kernel.answer = func(m message) [][]byte {
		if m.typ&0xff == msgDelete {
			cancel()
		}
		return lists(3*batchSize, 0, 0)(m)
	}
	result, err := newCleaner(kernel).Clean(ctx, gone, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, Result{Deleted: batchSize, Looked: 3 * batchSize}, result)
}
