package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	makePattern   = regexp.MustCompile(`\bmake ([a-z-]+)`)
	phonyPattern  = regexp.MustCompile(`(?m)^\.PHONY: (\S+)$`)
	targetPattern = regexp.MustCompile(`(?m)^([a-z-]+):.* ## .+$`)
)

func TestEveryMakeTargetIsListedByMakeHelp(t *testing.T) {
	makefile := readMakefile(t)
	require.ElementsMatch(t, firstGroups(phonyPattern, makefile), firstGroups(targetPattern, makefile))
}

func TestEveryMakeTargetInTheTextExists(t *testing.T) {
	targets := firstGroups(targetPattern, readMakefile(t))
	checked := 0
	for _, p := range pages(t) {
		texts := p.spans()
		for _, b := range p.blocks {
			if b.language == "sh" {
				texts = append(texts, b.text)
			}
		}
		for _, text := range texts {
			for _, name := range firstGroups(makePattern, text) {
				checked++
				require.Contains(t, targets, name, "%q in %s", text, p.path)
			}
		}
	}
	require.Greater(t, checked, 5, "the pattern for targets finds too few of them")
}

func readMakefile(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	return string(content)
}

// firstGroups returns the first group of every match.
func firstGroups(pattern *regexp.Regexp, text string) []string {
	var found []string
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}
