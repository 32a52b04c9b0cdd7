package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the top of the repository, as seen from the folder of this test.
const root = ".."

// page is a Markdown file, split into what is checked in different ways.
type page struct {
	// path is relative to the top of the repository.
	path string
	// prose is the text outside of code blocks.
	prose  string
	blocks []block
}

// block is a fenced code block.
type block struct {
	language string
	// mark is the HTML comment on the line above, which says what the block has
	// to be equal to: kind is the word before the colon, source what follows.
	kind, source string
	text         string
}

var markPattern = regexp.MustCompile(`^<!-- (\w+): (.+) -->$`)

// pages returns all Markdown files of the repository.
func pages(t *testing.T) []page {
	t.Helper()
	var found []page
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && len(d.Name()) > 2 && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir // .git, .cache
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		found = append(found, parse(rel, string(content)))
		return err
	})
	require.NoError(t, err)
	require.NotEmpty(t, found)
	return found
}

// readme returns the page people see first.
func readme(t *testing.T) page {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	return parse("README.md", string(content))
}

func parse(path, content string) page {
	p := page{path: path}
	var prose strings.Builder
	var open *block
	above := ""
	for line := range strings.Lines(content) {
		bare := strings.TrimSpace(line)
		switch {
		case open != nil && bare == "```":
			p.blocks = append(p.blocks, *open)
			open = nil
		case open != nil:
			open.text += line
		case strings.HasPrefix(bare, "```"):
			open = &block{language: strings.TrimPrefix(bare, "```")}
			if m := markPattern.FindStringSubmatch(above); m != nil {
				open.kind, open.source = m[1], m[2]
			}
		default:
			prose.WriteString(line)
		}
		above = bare
	}
	p.prose = prose.String()
	return p
}

var spanPattern = regexp.MustCompile("`([^`]+)`")

// spans returns the code spans of the prose.
func (p page) spans() []string {
	var found []string
	for _, m := range spanPattern.FindAllStringSubmatch(p.prose, -1) {
		found = append(found, m[1])
	}
	return found
}
