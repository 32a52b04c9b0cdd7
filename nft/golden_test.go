package nft

import "testing"

func TestGoldenRulesets(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			golden(t, s.name+".nft", compiled(t, s).Ruleset().Text())
		})
	}
}
