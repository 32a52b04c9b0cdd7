package selector

import (
	"fmt"
	"strconv"
)

// word returns the word of v, or "Kind(7)" for a value that has none.
func word[T ~uint8](kind string, v T, words []string) string {
	if int(v) < len(words) {
		return words[v]
	}
	return kind + "(" + strconv.Itoa(int(v)) + ")"
}

// wordText is word for encoders, to whom an unknown value is an error.
func wordText[T ~uint8](kind string, v T, words []string) ([]byte, error) {
	if int(v) < len(words) {
		return []byte(words[v]), nil
	}
	return nil, fmt.Errorf("encode %s %d: expected a value below %d", kind, v, len(words))
}

var (
	trafficWords = []string{Internal: "internal", External: "external"}
	policyWords  = []string{PolicyCluster: "Cluster", PolicyLocal: "Local"}
	scopeWords   = []string{ScopeCluster: "cluster", ScopeZone: "zone", ScopeNode: "node"}
	verdictWords = []string{Reject: "reject", Drop: "drop"}
)

// String returns "internal" or "external".
func (t Traffic) String() string { return word("Traffic", t, trafficWords) }

// MarshalText returns what String does, and an error for an unknown value.
func (t Traffic) MarshalText() ([]byte, error) { return wordText("Traffic", t, trafficWords) }

// String returns "Cluster" or "Local", as the Service API writes them.
func (p TrafficPolicy) String() string { return word("TrafficPolicy", p, policyWords) }

// MarshalText returns what String does, and an error for an unknown value.
func (p TrafficPolicy) MarshalText() ([]byte, error) {
	return wordText("TrafficPolicy", p, policyWords)
}

// String returns "cluster", "zone" or "node".
func (s Scope) String() string { return word("Scope", s, scopeWords) }

// MarshalText returns what String does, and an error for an unknown value.
func (s Scope) MarshalText() ([]byte, error) { return wordText("Scope", s, scopeWords) }

// String returns "reject" or "drop".
func (v Verdict) String() string { return word("Verdict", v, verdictWords) }

// MarshalText returns what String does, and an error for an unknown value.
func (v Verdict) MarshalText() ([]byte, error) { return wordText("Verdict", v, verdictWords) }
