package packettest

import (
	"net/netip"
	"strconv"
)

// Twin returns the IPv6 address that plays the same part as an IPv4 one, so
// that a test written in IPv4 runs in both families and reads alike:
//
//	10.96.0.10    fd00:10:96:0::10     the cluster's own addresses
//	198.51.100.7  2001:db8:51:100::7   everyone else's
//
// The decimal digits are written as they are, so no two addresses share a twin
// as long as they differ behind the first byte. The unspecified address is the
// twin of the unspecified address.
func Twin(v4 netip.Addr) netip.Addr {
	if v4.IsUnspecified() {
		return netip.IPv6Unspecified()
	}
	b := v4.As4()
	var v6 [16]byte
	if b[0] == 10 {
		copy(v6[:], []byte{0xfd, 0, 0, 0x10})
	} else {
		copy(v6[:], []byte{0x20, 0x01, 0x0d, 0xb8})
	}
	putDigits(v6[4:6], b[1])
	putDigits(v6[6:8], b[2])
	putDigits(v6[14:16], b[3])
	return netip.AddrFrom16(v6)
}

// TwinPort is Twin for an address with a port, which stays.
func TwinPort(v4 netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(Twin(v4.Addr()), v4.Port())
}

// TwinPrefix is Twin for a prefix of 0, 8, 16, 24 or 32 bits, whose twin has 0,
// 32, 48, 64 or 128. It panics on any other.
func TwinPrefix(v4 netip.Prefix) netip.Prefix {
	bits, ok := map[int]int{0: 0, 8: 32, 16: 48, 24: 64, 32: 128}[v4.Bits()]
	if !ok {
		panic("packettest: no twin of prefix " + v4.String())
	}
	return netip.PrefixFrom(Twin(v4.Addr()), bits)
}

// putDigits writes the decimal digits of n as hexadecimal ones.
func putDigits(b []byte, n byte) {
	v, err := strconv.ParseUint(strconv.Itoa(int(n)), 16, 16)
	if err != nil {
		panic(err) // decimal digits are hexadecimal ones
	}
	b[0], b[1] = byte(v>>8), byte(v)
}
