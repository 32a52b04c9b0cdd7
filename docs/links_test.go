package docs_test

import (
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var linkPattern = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"`)

func TestEveryLinkInTheRepositoryLeadsSomewhere(t *testing.T) {
	checked := 0
	for _, p := range pages(t) {
		for _, m := range linkPattern.FindAllStringSubmatch(p.prose, -1) {
			target := m[1] + m[2]
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			checked++
			name, anchor, _ := strings.Cut(target, "#")
			file := filepath.Join(root, filepath.Dir(p.path), name)
			if name == "" {
				file = filepath.Join(root, p.path)
			}
			content, err := os.ReadFile(file)
			if info, statErr := os.Stat(file); statErr == nil && info.IsDir() {
				continue
			}
			require.NoError(t, err, "link %q in %s", target, p.path)
			if anchor != "" {
				require.Contains(t, anchors(string(content)), anchor, "link %q in %s", target, p.path)
			}
		}
	}
	require.Greater(t, checked, 10, "the pattern for links finds too few of them")
}

var notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// anchors returns the names under which a page's headings can be linked to.
func anchors(content string) []string {
	var found []string
	for line := range strings.Lines(parse("", content).prose) {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			plain := notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
			found = append(found, strings.ReplaceAll(plain, " ", "-"))
		}
	}
	return found
}

func TestPicturesAreWellFormed(t *testing.T) {
	pictures, err := filepath.Glob("*.svg")
	require.NoError(t, err)
	require.NotEmpty(t, pictures)
	for _, name := range pictures {
		file, err := os.Open(name)
		require.NoError(t, err)
		defer func() { require.NoError(t, file.Close()) }()
		for decoder := xml.NewDecoder(file); err == nil; {
			_, err = decoder.Token()
		}
		require.ErrorIs(t, err, io.EOF, name)
	}
}
