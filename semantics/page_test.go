package semantics

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the tables of docs/semantics.md anew")

// pageMarker separates what is written by hand from what is generated.
const pageMarker = "<!-- What follows is written by: go test ./semantics -run Page -update -->\n"

var pagePath = filepath.Join("..", "docs", "semantics.md")

func TestPageIsUpToDate(t *testing.T) {
	page, err := os.ReadFile(pagePath)
	require.NoError(t, err)
	byHand, generated, found := strings.Cut(string(page), pageMarker)
	require.True(t, found, "%s has lost the line %q", pagePath, pageMarker)
	if *update {
		require.NoError(t, os.WriteFile(pagePath, []byte(byHand+pageMarker+tables()), 0o600))
		return
	}
	require.Equal(t, tables(), generated, "write it with: go test ./semantics -run Page -update")
}

// TestPageSaysWhatMustBeDocumented: of what changes for users of kube-proxy's
// iptables mode, three things must be in the documentation.
func TestPageSaysWhatMustBeDocumented(t *testing.T) {
	page, err := os.ReadFile(pagePath)
	require.NoError(t, err)
	byHand, _, _ := strings.Cut(string(page), pageMarker)
	for _, number := range []string{"(I1)", "(I2)", "(I3)"} {
		require.Contains(t, byHand, number)
	}
}

func tables() string {
	var b strings.Builder
	b.WriteString("\n## Every statement and how it is shown\n\n")
	b.WriteString("Rows are sub-tests of `TestSemantics`, under the number of the statement.\n\n")
	b.WriteString("| | Statement | Shown by | Not yet |\n|---|---|---|---|\n")
	for _, s := range statements {
		writeRow(&b, s.number, s.says, len(rowsOf(s.number)), s.elsewhere, s.notYet)
	}
	b.WriteString("\n## Troubles that users of other proxies reported\n\n")
	b.WriteString("Rows are sub-tests of `TestCases`, under the number of the report.\n\n")
	b.WriteString("| | What must hold | Shown by | Not yet |\n|---|---|---|---|\n")
	for _, c := range reportedCases {
		writeRow(&b, "["+c.number+"]("+c.url+")", c.says, len(c.rows), c.elsewhere, c.notYet)
	}
	return b.String()
}

func writeRow(b *strings.Builder, number, says string, rows int, elsewhere []string, notYet string) {
	var shown []string
	switch {
	case rows == 1:
		shown = append(shown, "1 row")
	case rows > 1:
		shown = append(shown, fmt.Sprintf("%d rows", rows))
	}
	for _, e := range elsewhere {
		pkg, name := splitTest(e)
		shown = append(shown, fmt.Sprintf("%s in %s", name, pkg))
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s |\n", number, says, strings.Join(shown, ", "), notYet)
}
