package docs_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "copy code, files and output into the text anew")

// Code in the text cannot rot: each block names what it is a copy of, in a
// comment on the line above.
//
//	<!-- body: docs/example_test.go Example_select -->   the body of a function
//	<!-- file: testdata/rulesets/one-service.nft -->     a whole file
//	<!-- output: bin/nearside version -->                what a command prints
func TestCodeInTheTextIsACopyOfCodeThatIsTested(t *testing.T) {
	checked := 0
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if b.language != "go" && b.language != "nft" && b.kind == "" {
				continue
			}
			checked++
			require.NotEmpty(t, b.kind, "%s: a block of %s has no comment above that says what it is a copy of:\n%s",
				p.path, b.language, b.text)
			want := original(t, b)
			if *update {
				replace(t, p.path, b, want)
				continue
			}
			require.Equal(t, want, b.text, "%s: the block is no longer a copy of %s; see make gen", p.path, b.source)
		}
	}
	require.NotZero(t, checked, "the pattern for code blocks finds none")
}

// replace writes another text into a block.
func replace(t *testing.T, path string, b block, text string) {
	t.Helper()
	file := filepath.Join(root, path)
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	head := "<!-- " + b.kind + ": " + b.source + " -->\n```" + b.language + "\n"
	anew := strings.Replace(string(content), head+b.text+"```\n", head+text+"```\n", 1)
	require.NoError(t, os.WriteFile(file, []byte(anew), 0o644))
}

func original(t *testing.T, b block) string {
	t.Helper()
	switch b.kind {
	case "file":
		content, err := os.ReadFile(filepath.Join(root, b.source))
		require.NoError(t, err)
		return string(content)
	case "body":
		file, function, _ := strings.Cut(b.source, " ")
		return body(t, filepath.Join(root, file), function)
	case "output":
		return run(t, b.source)
	}
	require.FailNow(t, "a comment above a block says file, body or output", b.kind)
	return ""
}

// body returns the text of a function's body, moved to the left margin.
func body(t *testing.T, file, function string) string {
	t.Helper()
	source, err := os.ReadFile(file)
	require.NoError(t, err)
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, source, parser.ParseComments)
	require.NoError(t, err)
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != function {
			continue
		}
		text := string(source[files.Position(f.Body.Lbrace).Offset+1 : files.Position(f.Body.Rbrace).Offset])
		var out strings.Builder
		for line := range strings.Lines(strings.TrimPrefix(text, "\n")) {
			out.WriteString(strings.TrimPrefix(line, "\t"))
		}
		return out.String()
	}
	require.FailNow(t, "no such function", "%s in %s", function, file)
	return ""
}
