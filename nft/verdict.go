package nft

import "fmt"

// verdictLen is the length of a verdict in records: a kind, the length of a
// chain name, and the name.
const verdictLen = 2 + maxChainName

// maxChainName bounds the names of chains that verdicts lead to, so that a
// verdict has a fixed length in records. Longer names occur only where someone
// else wrote to the table; they are cut, never match, and are replaced.
const maxChainName = 46

type verdictKind byte

const (
	verdictDrop verdictKind = iota
	verdictGoto
	// verdictForeign is any other verdict, found in the kernel only.
	verdictForeign
)

// putVerdict writes a verdict into the data of a record. A name that does not
// fit is not one of ours.
func putVerdict(rec []byte, kind verdictKind, chain string) {
	if len(chain) > maxChainName {
		kind = verdictForeign
	}
	rec[0] = byte(kind)
	rec[1] = byte(copy(rec[2:verdictLen], chain))
}

// getVerdict is the inverse of putVerdict.
func getVerdict(rec []byte) (verdictKind, string) {
	return verdictKind(rec[0]), string(rec[2 : 2+int(rec[1])])
}

// verdictText writes a verdict as nft does.
func verdictText(rec []byte) string {
	switch kind, chain := getVerdict(rec); kind {
	case verdictDrop:
		return "drop"
	case verdictGoto:
		return "goto " + chain
	default:
		return fmt.Sprintf("foreign verdict %q", chain)
	}
}
