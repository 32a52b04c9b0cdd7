package semantics

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// statement is one of the things that a Service proxy must do.
type statement struct {
	// number is its number, a section's letters and a place in it.
	number string
	// says is the statement in short.
	says string
	// elsewhere names tests of other packages that show it, "PACKAGE.TEST". Rows
	// that show it are found by themselves.
	elsewhere []string
	// notYet says what does not hold of it yet, or is not shown; empty if all is.
	notYet string
}

var statements = slices.Concat(trafficStatements, nodeStatements)

// musts are the numbers of all statements that bind a Service proxy.
var musts = map[string]string{
	"A": "1-4 6-8", "B": "1-3", "E": "1-6", "R": "1-7", "T": "1-6", "P": "1-7", "L": "1-3", "M": "1-9 12", "N": "1 3-7",
	"LB": "1-4 6-7", "D": "1-5", "S": "1-5", "U": "1-4", "C": "1-4", "H": "1-4 6-10", "W": "1-2 4-5", "K": "1-3",
	"Y": "1-2 6-7", "X": "1-6", "F": "1-2", "I": "1-3",
}

func numbers() (all []string) {
	for section, ranges := range musts {
		for r := range strings.FieldsSeq(ranges) {
			first, last, _ := strings.Cut(r, "-")
			from, _ := strconv.Atoi(first)
			to, err := strconv.Atoi(last)
			if err != nil {
				to = from
			}
			for n := from; n <= to; n++ {
				all = append(all, fmt.Sprint(section, n))
			}
		}
	}
	return all
}

func TestEveryStatementIsShownOrSaysWhyNot(t *testing.T) {
	var known []string
	for _, s := range statements {
		known = append(known, s.number)
		require.NotEmpty(t, s.says, s.number)
		require.True(t, len(rowsOf(s.number)) > 0 || len(s.elsewhere) > 0 || s.notYet != "",
			"statement %s has no row, no test elsewhere and no reason why not", s.number)
	}
	require.ElementsMatch(t, numbers(), known)
	for _, r := range allRows() {
		for s := range strings.FieldsSeq(r.shows) {
			require.Contains(t, known, s, "the row %q is about a statement that there is not", r.name)
		}
	}
}

func TestNamesOfRowsAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range allRows() {
		require.False(t, seen[r.name], r.name)
		seen[r.name] = true
	}
}

// TestTestsElsewhereExist reads the tests there are out of the packages' files,
// as the go command chooses them. Asking it for a list would have it link every
// one of the programs first, which takes minutes.
func TestTestsElsewhereExist(t *testing.T) {
	declared := map[string][]string{}
	for _, s := range elsewhere() {
		pkg, name := splitTest(s)
		if declared[pkg] == nil {
			declared[pkg] = testsOf(t, filepath.Join("..", pkg))
		}
		require.Contains(t, declared[pkg], name, "there is no test %s", s)
	}
}

// testsOf lists the tests of a package.
func testsOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	pkg, err := build.ImportDir(dir, 0)
	require.NoError(t, err)
	for _, file := range slices.Concat(pkg.TestGoFiles, pkg.XTestGoFiles) {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, file), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names = append(names, f.Name.Name)
			}
		}
	}
	require.NotEmpty(t, names, "the package %s has no tests", dir)
	return names
}

// elsewhere lists the tests of other packages that anything here refers to.
func elsewhere() (all []string) {
	for _, s := range statements {
		all = append(all, s.elsewhere...)
	}
	for _, c := range reportedCases {
		all = append(all, c.elsewhere...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// splitTest splits "cmd/nearside.TestRun" into package and name.
func splitTest(s string) (pkg, name string) {
	return strings.TrimSuffix(s, path.Ext(s)), strings.TrimPrefix(path.Ext(s), ".")
}

func TestEveryReportedCaseIsShownOrSaysWhyNot(t *testing.T) {
	var known []string
	for _, c := range reportedCases {
		known = append(known, c.number)
		require.NotEmpty(t, c.says, c.number)
		require.NotEmpty(t, c.url, c.number)
		require.True(t, len(c.rows) > 0 || len(c.elsewhere) > 0 || c.notYet != "", c.number)
	}
	require.ElementsMatch(t, reported, known)
}
