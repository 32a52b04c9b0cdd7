package conntrack

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"
)

// batchSize is the number of deletions that are sent in one go. Even if every
// one of them fails, the answers fit into a socket's buffer of ordinary size,
// for which the kernel counts almost 1 KiB each.
const batchSize = 100

// deletion is the message that deletes a flow. The kernel answers it only if it
// fails.
//
// It names the flow by where answers come from: a flow that the client's next
// packet makes in its place leads elsewhere, so it cannot be meant. The ID alone
// does not tell the two apart, because it depends on nothing but the direction
// of the client and a place in memory that is used again at once.
func deletion(f flow) []byte {
	attrs := [][]byte{appendAttr(nil, attrReply|nested, f.reply)}
	if f.id != nil {
		attrs = append(attrs, appendAttr(nil, attrID, f.id))
	}
	if f.zone != nil {
		attrs = append(attrs, appendAttr(nil, attrZone, f.zone))
	}
	return newMessage(msgDelete, 0, familyOf(f.dialled.Addr().Is6()), attrs...)
}

// remove carries out deletions. It returns how many flows it deleted: those
// that are gone by themselves do not count.
func (c *Cleaner) remove(ctx context.Context, deletions [][]byte) (deleted int, err error) {
	for len(deletions) > 0 {
		if err := ctx.Err(); err != nil {
			return deleted, err
		}
		n := min(batchSize, len(deletions))
		failed, err := c.removeBatch(deletions[:n])
		if err != nil {
			return deleted + n - failed, err
		}
		deleted += n - failed
		deletions = deletions[n:]
	}
	return deleted, nil
}

// removeBatch has the last deletion acknowledged, which tells that all before
// it are through. It returns how many did not delete anything.
func (c *Cleaner) removeBatch(deletions [][]byte) (failed int, err error) {
	first := c.sequence(len(deletions))
	acknowledge(deletions[len(deletions)-1])
	var batch []byte
	for i, d := range deletions {
		number(d, first+uint32(i))
		batch = append(batch, d...)
	}
	var refused error
	err = c.exchange(batch, first, first+uint32(len(deletions)-1), func(m message) {
		if m.err() == nil {
			return
		}
		failed++
		if !errors.Is(m.err(), unix.ENOENT) {
			refused = m.err()
		}
	})
	if err != nil {
		failed = len(deletions) // what became of them is not known
	}
	return failed, errors.Join(err, refused)
}
