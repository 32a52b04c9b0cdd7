package nodeaddrs

import (
	"net/netip"
	"testing"

	"github.com/mdlayher/netlink"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Messages as a little-endian kernel sends them, cut to the attributes that
// matter; the test that uses them is for such machines, as all of CI is.
var (
	// 192.0.2.11/24 on interface 2, with a label.
	addr4 = []byte{
		2, 24, 0x80, 0, 2, 0, 0, 0,
		8, 0, 1, 0, 192, 0, 2, 11,
		8, 0, 2, 0, 192, 0, 2, 11,
		9, 0, 3, 0, 'e', 't', 'h', '0', 0, 0, 0, 0,
		8, 0, 8, 0, 0x80, 0, 0, 0,
	}
	// 192.0.2.12 here, 198.51.100.1 at the other end.
	peer4 = []byte{
		2, 32, 0x80, 0, 3, 0, 0, 0,
		8, 0, 1, 0, 198, 51, 100, 1,
		8, 0, 2, 0, 192, 0, 2, 12,
	}
	// 2001:db8::11/64, whose flags do not fit into the header.
	addr6 = []byte{
		10, 64, 0x40, 0, 2, 0, 0, 0,
		20, 0, 1, 0, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11,
		8, 0, 8, 0, 0x48, 1, 0, 0,
	}
	link2 = []byte{
		0, 0, 1, 0, 2, 0, 0, 0, 0x43, 0x10, 1, 0, 0, 0, 0, 0,
		9, 0, 3, 0, 'e', 't', 'h', '0', 0, 0, 0, 0,
	}
	// The same interface as a port of a bridge (AF_BRIDGE).
	port2 = append([]byte{7}, link2[1:]...)
)

func TestParseAddr(t *testing.T) {
	for _, c := range []struct {
		name  string
		data  []byte
		want  address
		flags uint32
		no    bool
		err   string
	}{
		{name: "IPv4", data: addr4, want: address{2, netip.MustParseAddr("192.0.2.11"), 24}, flags: 0x80},
		{name: "a link between two: the end that is ours", data: peer4, want: address{3, netip.MustParseAddr("192.0.2.12"), 32}, flags: 0x80},
		{name: "IPv6, with all flags", data: addr6, want: address{2, netip.MustParseAddr("2001:db8::11"), 64}, flags: 0x148},
		{name: "another family", data: []byte{45, 8, 0, 0, 1, 0, 0, 0}, no: true},
		{name: "empty", err: "parse address message: 0 bytes, expected at least 8"},
		{name: "cut off in the header", data: addr4[:7], err: "parse address message: 7 bytes, expected at least 8"},
		{name: "cut off in an attribute", data: addr4[:14], err: "parse address message: "},
		{name: "without an address", data: addr4[:8], err: "parse address message: no address of family 2 in it"},
		{name: "with an address of the other family", data: append([]byte{10}, addr4[1:]...), err: "parse address message: no address of family 10 in it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, flags, ok, err := parseAddr(c.data)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, !c.no, ok)
			require.Equal(t, c.want, got)
			require.Equal(t, c.flags, flags)
		})
	}
}

func TestParseLink(t *testing.T) {
	index, l, ok, err := parseLink(link2)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, uint32(2), index)
	require.Equal(t, link{name: "eth0", up: true}, l)

	_, _, ok, err = parseLink(port2)
	require.NoError(t, err)
	require.False(t, ok, "a place in a bridge is not the interface")

	_, _, _, err = parseLink(link2[:15])
	require.EqualError(t, err, "parse link message: 15 bytes, expected at least 16")
}

func message(kind netlink.HeaderType, data []byte) netlink.Message {
	return netlink.Message{Header: netlink.Header{Type: kind}, Data: data}
}

func TestTable(t *testing.T) {
	tab := newTable()
	for _, step := range []struct {
		name string
		m    netlink.Message
		want []netip.Addr
	}{
		{name: "an address on an interface that is not known", m: message(unix.RTM_NEWADDR, addr4)},
		{name: "its interface", m: message(unix.RTM_NEWLINK, link2), want: parse("192.0.2.11")},
		{name: "one that failed duplicate address detection", m: message(unix.RTM_NEWADDR, addr6), want: parse("192.0.2.11")},
		{name: "the interface leaves a bridge", m: message(unix.RTM_DELLINK, port2), want: parse("192.0.2.11")},
		{name: "a message of another type", m: message(unix.RTM_NEWROUTE, []byte{1}), want: parse("192.0.2.11")},
		{name: "the interface goes", m: message(unix.RTM_DELLINK, link2)},
		{name: "and is back", m: message(unix.RTM_NEWLINK, link2), want: parse("192.0.2.11")},
		{name: "the address goes", m: message(unix.RTM_DELADDR, addr4)},
	} {
		require.NoError(t, tab.apply(step.m), step.name)
		require.ElementsMatch(t, step.want, tab.current(), step.name)
	}
	require.Error(t, tab.apply(message(unix.RTM_NEWADDR, nil)))
}

// FuzzMessages feeds what no kernel sends: nothing panics, and nothing but whole
// addresses comes out.
func FuzzMessages(f *testing.F) {
	for _, data := range [][]byte{addr4, peer4, addr6, link2, port2, nil} {
		for _, kind := range []uint16{unix.RTM_NEWADDR, unix.RTM_DELADDR, unix.RTM_NEWLINK, unix.RTM_DELLINK} {
			f.Add(kind, data)
		}
	}
	f.Fuzz(func(t *testing.T, kind uint16, data []byte) {
		tab := newTable()
		tab.links[2] = link{name: "eth0", up: true}
		if err := tab.apply(message(netlink.HeaderType(kind), data)); err != nil && len(tab.addrs) > 0 {
			t.Fatalf("half of a message was taken over: %v", err)
		}
		for _, a := range tab.current() {
			if !a.IsValid() {
				t.Fatal("an address that is none")
			}
		}
	})
}
