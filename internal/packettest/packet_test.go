package packettest

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChecksumsMatchPublishedExamples(t *testing.T) {
	// RFC 1071 section 3.
	require.Equal(t, ^uint16(0xddf2), fold(onesSum(0, []byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7})))
	require.Equal(t, ^uint16(0x0100), fold(onesSum(0, []byte{0x01})), "an odd byte is the upper half of a word")
	// RFC 3720 section B.4, in the byte order that packets have.
	for name, c := range map[string]struct {
		data [32]byte
		want string
	}{
		"zeros": {want: "aa36918a"},
		"ones":  {data: [32]byte(fill(32, func(int) byte { return 0xff })), want: "43aba862"},
		"up":    {data: [32]byte(fill(32, func(i int) byte { return byte(i) })), want: "4e79dd46"},
		"down":  {data: [32]byte(fill(32, func(i int) byte { return byte(31 - i) })), want: "5cdb3f11"},
	} {
		got := binary.LittleEndian.AppendUint32(nil, sctpChecksum(c.data[:]))
		require.Equal(t, c.want, hex.EncodeToString(got), name)
	}
}

func fill(n int, at func(int) byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = at(i)
	}
	return b
}

// everyPacket is one of every protocol, stage and family.
func everyPacket() map[string]packet {
	all := map[string]packet{}
	for _, proto := range protocols {
		for _, st := range []stage{stageFirst, stageAnswer, stageLater} {
			p := packet{
				src: To("10.1.1.5:40000"), dst: To("198.51.100.7:443"), proto: proto, stage: st,
				token: 0x01020304, own: 0x05060708, peer: 0x090a0b0c,
			}
			switch {
			case proto == ICMP && st == stageAnswer:
				p.src = netip.AddrPortFrom(p.src.Addr(), 0)
			case proto == ICMP:
				p.dst = netip.AddrPortFrom(p.dst.Addr(), 0)
			}
			all[fmt.Sprintf("%v/%d/ip", proto, st)] = p
			p.src, p.dst = TwinPort(p.src), TwinPort(p.dst)
			all[fmt.Sprintf("%v/%d/ip6", proto, st)] = p
		}
	}
	return all
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	for name, p := range everyPacket() {
		t.Run(name, func(t *testing.T) {
			b := p.marshal()
			got, ok := parse(b)
			require.True(t, ok)
			require.Equal(t, p.src, got.src)
			require.Equal(t, p.dst, got.dst)
			require.Equal(t, p.proto, got.proto)
			require.Equal(t, p.token, got.token)
			require.True(t, got.intact)
			require.True(t, p.isSeenIn(got))
			require.Equal(t, NotRefused, p.refusedBy(got))

			// Links pad short frames: what follows the packet is not part of it.
			padded, ok := parse(append(b, make([]byte, 20)...))
			require.True(t, ok)
			require.Equal(t, got, padded)
		})
	}
}

func TestEveryDamagedByteIsNoticed(t *testing.T) {
	for name, p := range everyPacket() {
		t.Run(name, func(t *testing.T) {
			b := p.marshal()
			header := 20
			if p.src.Addr().Is6() {
				header = 40
			}
			for i := header; i < len(b); i++ {
				b[i] ^= 0x10
				got, ok := parse(b)
				require.True(t, !ok || !got.intact, "byte %d", i)
				b[i] ^= 0x10
			}
		})
	}
}

func TestUDPChecksumIsNeverZero(t *testing.T) {
	// Whatever sums up to nothing is sent as all ones (RFC 768).
	segment := make([]byte, 10)
	src, dst := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	binary.BigEndian.PutUint16(segment[8:], transportSum(UDP, src, dst, segment))
	putChecksum(UDP, src, dst, segment)
	require.Equal(t, []byte{0xff, 0xff}, segment[6:8])
	require.True(t, checksumGood(UDP, src, dst, segment))
}

// reset is the reset that a segment meets, unreachable an ICMP error about it.
func reset(p packet, ack uint32) parsed {
	return parsed{src: p.dst, dst: p.src, proto: TCP, reset: true, ack: ack}
}

func unreachable(p packet, code byte) []byte {
	b := append([]byte{icmpUnreachable, code, 0, 0, 0, 0, 0, 0}, p.marshal()[:28]...)
	putChecksum(ICMP, p.dst.Addr(), p.src.Addr(), b)
	outer := packet{src: p.dst, dst: p.src, proto: ICMP}
	return append(outer.ipv4(len(b)), b...)
}

func TestOnlyRefusalsThatASenderWouldBelieveCount(t *testing.T) {
	p := packet{src: To("10.1.1.5:40000"), dst: To("10.96.0.10:80"), proto: TCP, token: 7}
	other := p
	other.src = To("10.1.1.5:40001")

	require.Equal(t, Reset, p.refusedBy(reset(p, 8)))
	require.Equal(t, NotRefused, p.refusedBy(reset(p, 9)), "it acknowledges something else")
	require.Equal(t, NotRefused, p.refusedBy(reset(other, 8)), "it is for another connection")

	for code, want := range map[byte]Refusal{3: PortUnreachable, 1: OtherUnreachable} {
		got, ok := parse(unreachable(p, code))
		require.True(t, ok)
		require.Equal(t, want, p.refusedBy(got))
		require.Equal(t, NotRefused, other.refusedBy(got), "it quotes another packet")
	}
}

func FuzzParse(f *testing.F) {
	for _, proto := range protocols {
		p := packet{src: To("10.1.1.5:40000"), dst: To("198.51.100.7:443"), proto: proto, token: 1}
		f.Add(p.marshal())
		f.Add(unreachable(p, 3))
		p.src, p.dst = TwinPort(p.src), TwinPort(p.dst)
		f.Add(p.marshal())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, ok := parse(b); ok {
			require.True(t, p.src.IsValid() && p.dst.IsValid())
			require.Contains(t, protocols, p.proto)
		}
	})
}
