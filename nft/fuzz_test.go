package nft

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What the kernel sends is trusted to be well formed, but nothing it sends, and
// nothing that someone else puts into the table, may bring a process down.

func FuzzAnswers(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, 36))
	f.Fuzz(func(t *testing.T, b []byte) {
		batch := NewTable(Config{}).Changes().encode(nil, 1)
		for _, a := range appendAnswers(nil, b) {
			require.NotNil(t, describe(messageOf(batch, a.seq), a.offset))
		}
		_ = judge(batch, appendAnswers(nil, b))
	})
}

func FuzzDescribe(f *testing.F) {
	table, _ := Compile(Config{}, []Service{svc("demo/web", fe("10.96.0.10:80", TCP, "@10.1.1.5:8080"))})
	batch := table.Changes().encode(nil, 1)
	for seq := uint32(1); ; seq++ {
		msg := messageOf(batch, seq)
		if msg == nil {
			break
		}
		f.Add(msg, 0)
		f.Add(msg, 48)
	}
	f.Fuzz(func(t *testing.T, msg []byte, offset int) {
		require.NotEmpty(t, describe(msg, offset).Op)
	})
}

func FuzzAttributes(f *testing.F) {
	rules := layoutChains(Config{})[1].Rules
	f.Add(rules[0].sent, rules[0].kept)
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if _, ok := parseAttrs(a); ok {
			require.True(t, equalAttrs(a, a))
		}
		_ = equalAttrs(a, b)
		s := layoutSets(IPv6)[frontendsSet]
		parseElement(s, a)
		require.NotEmpty(t, s.keyText(s.records.key(0)))
		require.NotEmpty(t, s.dataText(s.records.data(0)))
		_ = parseChain(a)
		_ = parseSet(a, s)
	})
}
