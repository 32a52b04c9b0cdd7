package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/selector"
)

var (
	namePattern = regexp.MustCompile(`^(selector|nft|informer|agent)\.([A-Z]\w*(?:\.[A-Z]\w*)?)(?:\(\))?$`)
	pathPattern = regexp.MustCompile(`^(?:selector|nft|informer|agent|conntrack|health|hostsetup|nodeaddrs|semantics|deploy|cmd|examples|testdata|docs|hack|test|internal|tools|\.ci)/[\w./*-]*$`)
)

func TestEveryGoNameInTheTextExists(t *testing.T) {
	exported := map[string]map[string]ast.Node{}
	checked := 0
	for _, p := range pages(t) {
		for _, span := range p.spans() {
			m := namePattern.FindStringSubmatch(span)
			if m == nil {
				continue
			}
			if exported[m[1]] == nil {
				exported[m[1]] = declarations(t, m[1])
			}
			checked++
			require.Contains(t, slices.Collect(maps.Keys(exported[m[1]])), m[2], "`%s` in %s", span, p.path)
		}
	}
	require.Greater(t, checked, 10, "the pattern for Go names finds too few of them")
}

func TestEveryPathInTheTextExists(t *testing.T) {
	checked := 0
	for _, p := range pages(t) {
		for _, span := range p.spans() {
			if !pathPattern.MatchString(span) {
				continue
			}
			checked++
			found, err := filepath.Glob(filepath.Join(root, span))
			require.NoError(t, err)
			require.NotEmpty(t, found, "`%s` in %s", span, p.path)
		}
	}
	require.Greater(t, checked, 10, "the pattern for paths finds too few of them")
}

func TestTheTableOfPoliciesIsComplete(t *testing.T) {
	var policies []string
	var table strings.Builder
	for line := range strings.Lines(readme(t).prose) {
		if m := regexp.MustCompile("^\\| `(\\w+)` \\|").FindStringSubmatch(line); m != nil {
			policies = append(policies, m[1])
			table.WriteString(line)
		}
	}
	require.ElementsMatch(t, append(selector.Names(), "Local"), policies)

	// Those that Enforce alone gives belong to no policy.
	codes := map[selector.Code]bool{selector.SelectorViolation: true, selector.Unstated: true}
	for _, m := range spanPattern.FindAllStringSubmatch(table.String(), -1) {
		codes[selector.Code(m[1])] = true
	}
	for name, node := range declarations(t, "selector") {
		if spec, ok := node.(*ast.ValueSpec); ok && typeName(spec.Type) == "Code" {
			require.Contains(t, codes, selector.Code(name))
		}
	}
}

// declarations returns what a package exports: functions, types, constants and
// variables by name, methods and fields as Type.Name.
func declarations(t *testing.T, pkg string) map[string]ast.Node {
	t.Helper()
	files, err := os.ReadDir(filepath.Join(root, pkg))
	require.NoError(t, err)
	found := map[string]ast.Node{}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, pkg, f.Name()), nil, 0)
		require.NoError(t, err)
		for _, d := range parsed.Decls {
			declare(found, d)
		}
	}
	return found
}

func declare(found map[string]ast.Node, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			name = typeName(d.Recv.List[0].Type) + "." + name
		}
		found[name] = d
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					found[name.Name] = spec
				}
			case *ast.TypeSpec:
				found[spec.Name.Name] = spec
				for _, member := range members(spec.Type) {
					found[spec.Name.Name+"."+member] = spec
				}
			}
		}
	}
}

// members returns the names of the fields of a struct, or of the methods of an
// interface.
func members(typ ast.Expr) []string {
	var list *ast.FieldList
	switch typ := typ.(type) {
	case *ast.StructType:
		list = typ.Fields
	case *ast.InterfaceType:
		list = typ.Methods
	default:
		return nil
	}
	var names []string
	for _, field := range list.List {
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return names
}

// typeName returns the name of a type or of what it points to.
func typeName(typ ast.Expr) string {
	switch typ := typ.(type) {
	case *ast.StarExpr:
		return typeName(typ.X)
	case *ast.Ident:
		return typ.Name
	}
	return ""
}
