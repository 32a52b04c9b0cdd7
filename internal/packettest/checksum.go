package packettest

import (
	"encoding/binary"
	"hash/crc32"
	"net/netip"
)

// onesSum adds 16-bit words as RFC 1071 has it. A last odd byte counts as the
// upper half of a word.
func onesSum(sum uint32, b []byte) uint32 {
	for ; len(b) >= 2; b = b[2:] {
		sum += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		sum += uint32(b[0]) << 8
	}
	return sum
}

// fold completes a sum of words to the Internet checksum.
func fold(sum uint32) uint16 {
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// pseudoSum is the sum of the pseudo header that TCP, UDP and ICMPv6 include
// (RFC 9293 section 3.1, RFC 8200 section 8.1).
func pseudoSum(src, dst netip.Addr, protocol byte, length int) uint32 {
	sum := onesSum(0, src.AsSlice())
	sum = onesSum(sum, dst.AsSlice())
	return sum + uint32(protocol) + uint32(length)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sctpChecksum is the CRC32c of an SCTP packet whose checksum field is zero,
// as its bytes stand in the packet read as a little-endian number (RFC 9260
// appendix A).
func sctpChecksum(segment []byte) uint32 { return crc32.Checksum(segment, castagnoli) }

// putChecksum fills in the checksum of a transport segment, in which it is zero.
func putChecksum(p Protocol, src, dst netip.Addr, segment []byte) {
	if p == SCTP {
		binary.LittleEndian.PutUint32(segment[8:], sctpChecksum(segment))
		return
	}
	sum := transportSum(p, src, dst, segment)
	if sum == 0 && p == UDP {
		sum = 0xffff // zero says that there is no checksum (RFC 768)
	}
	binary.BigEndian.PutUint16(segment[checksumOffset(p):], sum)
}

// checksumGood verifies a transport segment as its receiver would.
func checksumGood(p Protocol, src, dst netip.Addr, segment []byte) bool {
	if p != SCTP {
		return transportSum(p, src, dst, segment) == 0
	}
	claimed := binary.LittleEndian.Uint32(segment[8:])
	zeroed := append([]byte(nil), segment...)
	clear(zeroed[8:12])
	return sctpChecksum(zeroed) == claimed
}

// transportSum is the Internet checksum over a segment. Over one that contains
// its right checksum it is zero.
func transportSum(p Protocol, src, dst netip.Addr, segment []byte) uint16 {
	if p == ICMP && src.Is4() {
		return fold(onesSum(0, segment)) // RFC 792 has no pseudo header
	}
	return fold(onesSum(pseudoSum(src, dst, p.number(src), len(segment)), segment))
}

func checksumOffset(p Protocol) int {
	switch p {
	case TCP:
		return 16
	case UDP:
		return 6
	default: // ICMP
		return 2
	}
}
