package commits_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/nearside/nearside/internal/netns"
	"github.com/nearside/nearside/test/cluster/commits"
)

func TestRecorderTellsEachCommitAndItsContent(t *testing.T) {
	ns := netns.New(t)
	var record *commits.Recorder
	ns.Must(t, func() (err error) {
		record, err = commits.Record()
		return err
	})
	defer func() { require.NoError(t, record.Close()) }()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	nft := func(command string) { ns.Run(t, "nft", command) }

	nft("add table ip t; add set ip t s { type ipv4_addr; }")
	nft("add element ip t s { 10.9.8.7, 10.9.8.6 }")
	nft("delete element ip t s { 10.9.8.7 }")
	last, err := record.Wait(ctx, 0, func(c commits.Commit) bool {
		return c.Contains(unix.NFT_MSG_DELSETELEM, []byte{10, 9, 8, 7})
	})
	require.NoError(t, err)

	all, err := record.Since(0)
	require.NoError(t, err)
	require.Len(t, all, 3, "one commit for each command")
	require.Equal(t, 3, record.Count())
	require.Len(t, all[0].Messages, 2, "a table and a set")
	require.True(t, all[1].Contains(unix.NFT_MSG_NEWSETELEM, []byte{10, 9, 8, 6}))
	require.False(t, all[1].Contains(unix.NFT_MSG_NEWSETELEM, []byte{10, 9, 8, 5}))
	require.False(t, all[1].Contains(unix.NFT_MSG_DELSETELEM, []byte{10, 9, 8, 6}))
	require.Equal(t, "nft", last.Process)
	require.NotZero(t, last.Thread)
	require.Equal(t, all[0].Generation+2, last.Generation)
}

func TestWaitEndsWithItsContext(t *testing.T) {
	ns := netns.New(t)
	var record *commits.Recorder
	ns.Must(t, func() (err error) {
		record, err = commits.Record()
		return err
	})
	defer func() { require.NoError(t, record.Close()) }()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := record.Wait(ctx, 0, func(commits.Commit) bool { return true })
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestWaitEndsWithTheRecord(t *testing.T) {
	ns := netns.New(t)
	var record *commits.Recorder
	ns.Must(t, func() (err error) {
		record, err = commits.Record()
		return err
	})
	require.NoError(t, record.Close())
	_, err := record.Wait(t.Context(), 0, func(commits.Commit) bool { return true })
	require.Error(t, err)
}
