package conntrack

import (
	"context"
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/nearside/nearside/internal/netns"
)

// madeUp is a flow that tests write into the kernel's table without any packet.
type madeUp struct {
	protocol  uint8
	client    netip.AddrPort
	dialled   netip.AddrPort
	answering netip.AddrPort // not valid: not translated
	zone      uint16
}

const msgNew = 0 // IPCTNL_MSG_CT_NEW

// attrTimeout is CTA_TIMEOUT, in seconds.
const attrTimeout = 7

func (m madeUp) message() []byte {
	answering := m.answering
	if !answering.IsValid() {
		answering = m.dialled
	}
	attrs := [][]byte{
		appendAttr(nil, attrOriginal|nested, tupleBytes(m.protocol, m.client, m.dialled)),
		appendAttr(nil, attrReply|nested, tupleBytes(m.protocol, answering, m.client)),
		appendAttr(nil, attrTimeout, binary.BigEndian.AppendUint32(nil, 600)),
	}
	if m.zone != 0 {
		attrs = append(attrs, appendAttr(nil, attrZone, binary.BigEndian.AppendUint16(nil, m.zone)))
	}
	return newMessage(msgNew, unix.NLM_F_CREATE|unix.NLM_F_EXCL, familyOf(m.dialled.Addr().Is6()), attrs...)
}

func tupleBytes(protocol uint8, source, destination netip.AddrPort) []byte {
	from, to := uint16(ipSource4), uint16(ipDestination4)
	if source.Addr().Is6() {
		from, to = ipSource6, ipDestination6
	}
	ip := appendAttr(nil, from, source.Addr().AsSlice())
	ip = appendAttr(ip, to, destination.Addr().AsSlice())
	proto := appendAttr(nil, protoNumber, []byte{protocol})
	proto = appendAttr(proto, protoSource, binary.BigEndian.AppendUint16(nil, source.Port()))
	proto = appendAttr(proto, protoDestination, binary.BigEndian.AppendUint16(nil, destination.Port()))
	return appendAttr(appendAttr(nil, tupleIP|nested, ip), tupleProto|nested, proto)
}

// makeUp writes flows into the kernel's table.
func (c *Cleaner) makeUp(t testing.TB, flows ...madeUp) {
	t.Helper()
	for len(flows) > 0 {
		n := min(batchSize, len(flows))
		messages := make([][]byte, n)
		for i := range messages {
			messages[i] = flows[i].message()
		}
		failed, err := c.removeBatch(messages) // sends a batch of whatever
		require.NoError(t, err)
		require.Zero(t, failed)
		flows = flows[n:]
	}
}

// dialIn connects to the conntrack table of a namespace.
func dialIn(t testing.TB, ns *netns.Namespace) *Cleaner {
	t.Helper()
	var c *Cleaner
	ns.Must(t, func() (err error) {
		c, err = Dial()
		return err
	})
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// flows returns how many flows there are.
func (c *Cleaner) flows(t testing.TB) int {
	t.Helper()
	n, _, err := c.Count(context.Background())
	require.NoError(t, err)
	return n
}
