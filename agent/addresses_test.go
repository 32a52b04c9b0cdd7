package agent

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseNodePortAddresses(t *testing.T) {
	ten := netip.MustParsePrefix("10.0.0.0/8")
	for name, tc := range map[string]struct {
		values []string
		want   NodePortAddresses
	}{
		"nothing means the default":      {nil, NodePortAddresses{}},
		"the primary address":            {[]string{"primary"}, NodePortAddresses{Primary: true}},
		"all addresses":                  {[]string{"all"}, NodePortAddresses{All: true}},
		"prefixes mix with keywords":     {[]string{"localhost", "10.0.0.0/8"}, NodePortAddresses{Localhost: true, Prefixes: []netip.Prefix{ten}}},
		"host bits of a prefix go":       {[]string{"10.1.2.3/8"}, NodePortAddresses{Prefixes: []netip.Prefix{ten}}},
		"blanks around values are fine":  {[]string{" primary ", ""}, NodePortAddresses{Primary: true}},
		"both families at the same time": {[]string{"10.0.0.0/8", "fd00::/8"}, NodePortAddresses{Prefixes: []netip.Prefix{ten, netip.MustParsePrefix("fd00::/8")}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseNodePortAddresses(tc.values)
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestParseNodePortAddressesSaysWhatIsWrong(t *testing.T) {
	for name, tc := range map[string]struct {
		values []string
		want   string
	}{
		"a keyword is repeated":     {[]string{"primary", "primary"}, `keyword "primary" is repeated`},
		"an address is no prefix":   {[]string{"10.0.0.1"}, `parse node port address "10.0.0.1": expected a prefix`},
		"a keyword is unknown":      {[]string{"secondary"}, `"secondary": expected a prefix such as "10.0.0.0/8", or primary, localhost or all`},
		"a prefix is too long":      {[]string{"10.0.0.0/33"}, `"10.0.0.0/33"`},
		"keywords have one casing":  {[]string{"All"}, `"All"`},
		"control characters escape": {[]string{"\x1b[2J"}, `"\x1b[2J"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseNodePortAddresses(tc.values)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestParseClusterCIDRs(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string
		err  string
	}{
		"empty text means none":      {text: " "},
		"one prefix":                 {text: "10.244.0.0/16", want: []string{"10.244.0.0/16"}},
		"a pair of both families":    {text: "10.244.0.0/16, fd00:10::/56", want: []string{"10.244.0.0/16", "fd00:10::/56"}},
		"host bits go":               {text: "10.244.3.4/16", want: []string{"10.244.0.0/16"}},
		"a pair of one family":       {text: "10.1.0.0/16,10.2.0.0/16", err: `"10.1.0.0/16" and "10.2.0.0/16" are of one IP family`},
		"an address without length":  {text: "10.244.0.0", err: `parse cluster CIDR "10.244.0.0": expected a prefix`},
		"a comma too many":           {text: "10.244.0.0/16,", err: `parse cluster CIDR "": expected a prefix`},
		"an IPv4 prefix inside IPv6": {text: "::ffff:10.0.0.0/104", err: "expected a prefix"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseClusterCIDRs(tc.text)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			var words []string
			for _, p := range got {
				words = append(words, p.String())
			}
			require.Equal(t, tc.want, words)
		})
	}
}

// FuzzParseNodePortAddresses checks that what is understood can be written and
// is then understood in the same way.
func FuzzParseNodePortAddresses(f *testing.F) {
	for _, seed := range []string{"", "primary", "primary,all", "10.0.0.0/8,localhost,::/0", "primary,primary", "10.0.0.1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseNodePortAddresses(strings.Split(text, ","))
		if err != nil {
			require.Equal(t, NodePortAddresses{}, got, "an error must leave no part of the result")
			return
		}
		again, err := ParseNodePortAddresses(strings.Split(got.String(), ","))
		require.NoError(t, err)
		require.Equal(t, got, again)
	})
}
