package conntrack

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestParseFlow(t *testing.T) {
	for _, row := range []struct {
		name string
		made madeUp
	}{
		{
			name: "a translated flow in IPv4",
			made: madeUp{protocol: protocolUDP, client: at("10.1.1.50:40000"), dialled: at("10.96.0.10:53"), answering: at("10.1.2.5:5353")},
		},
		{
			name: "a flow in IPv6 that is not translated",
			made: madeUp{protocol: protocolUDP, client: at("[fd00::50]:40000"), dialled: at("[fd00::10]:53")},
		},
		{
			name: "a connection over TCP in a zone",
			made: madeUp{protocol: tcp, client: at("10.1.1.50:40000"), dialled: at("10.96.0.10:53"), answering: at("10.1.2.5:5353"), zone: 7},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			f, ok := parseFlow(row.made.message()[unix.NLMSG_HDRLEN:])
			require.True(t, ok)
			require.Equal(t, row.made.protocol, f.protocol)
			require.Equal(t, row.made.dialled, f.dialled)
			if row.made.answering.IsValid() {
				require.Equal(t, row.made.answering, f.answering)
			} else {
				require.Equal(t, row.made.dialled, f.answering)
			}
			require.Equal(t, tupleBytes(row.made.protocol, f.answering, row.made.client), f.reply)
			require.Equal(t, row.made.zone != 0, f.zone != nil)
		})
	}
}

func TestParseFlowRefusesWhatIsNoFlowBetweenPorts(t *testing.T) {
	there := appendAttr(nil, attrOriginal|nested, tupleBytes(protocolUDP, at("10.1.1.50:40000"), at("10.96.0.10:53")))
	back := appendAttr(nil, attrReply|nested, tupleBytes(protocolUDP, at("10.1.2.5:5353"), at("10.1.1.50:40000")))
	overTCP := appendAttr(nil, attrReply|nested, tupleBytes(tcp, at("10.1.2.5:5353"), at("10.1.1.50:40000")))
	for name, attrs := range map[string][][]byte{
		"one without answers":                    {there},
		"one without a beginning":                {back},
		"one that changes its protocol":          {there, overTCP},
		"one whose attribute is cut off":         {there, back[:len(back)-9]},
		"one whose attribute is shorter than it": {there, {2, 0, attrReply, 0}},
		"one without anything":                   {},
	} {
		t.Run(name, func(t *testing.T) {
			_, ok := parseFlow(newMessage(0, 0, unix.AF_INET, attrs...)[unix.NLMSG_HDRLEN:])
			require.False(t, ok)
		})
	}
	_, ok := parseFlow(nil)
	require.False(t, ok)
}

// Whatever the kernel sends, nothing panics, and what counts as a flow has
// addresses of a sane kind.
func FuzzParseFlow(f *testing.F) {
	f.Add(madeUp{protocol: protocolUDP, client: at("10.1.1.50:40000"), dialled: at("10.96.0.10:53")}.message()[unix.NLMSG_HDRLEN:])
	f.Add(madeUp{protocol: sctp, client: at("[fd00::50]:4"), dialled: at("[fd00::10]:53"), zone: 3}.message()[unix.NLMSG_HDRLEN:])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		fl, ok := parseFlow(b)
		if !ok {
			return
		}
		for _, a := range []netip.AddrPort{fl.dialled, fl.answering} {
			if !a.IsValid() {
				t.Fatalf("a flow between %v and %v", fl.dialled, fl.answering)
			}
		}
		eachMessage(deletion(fl), func(m message) {
			again, _ := parseFlow(m.body)
			if string(again.reply) != string(fl.reply) || string(again.id) != string(fl.id) {
				t.Fatal("the deletion names another flow")
			}
		})
	})
}
