package packettest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Forget has the node forget all connections, so that source ports and flows
// start anew.
func (l *Lab) Forget(t testing.TB) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.forget(); err != nil {
		t.Fatal(err)
	}
}

// forget empties the node's conntrack table: a request to delete an entry that
// names none deletes all (net/netfilter/nf_conntrack_netlink.c).
func (l *Lab) forget() error {
	const ctDelete = 2 // IPCTNL_MSG_CT_DELETE
	err := l.Node.Do(func() error {
		conn, err := netlink.Dial(unix.NETLINK_NETFILTER, nil)
		if err != nil {
			return err
		}
		_, err = conn.Execute(netlink.Message{
			Header: netlink.Header{
				Type:  unix.NFNL_SUBSYS_CTNETLINK<<8 | ctDelete,
				Flags: netlink.Request | netlink.Acknowledge,
			},
			Data: []byte{unix.AF_UNSPEC, unix.NFNETLINK_V0, 0, 0},
		})
		return errors.Join(err, conn.Close())
	})
	if err != nil {
		return fmt.Errorf("flush the node's conntrack table: %w", err)
	}
	return nil
}
