package selector_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/selector"
)

// codes returns every reason code that the package declares, from its source,
// so that a new one cannot be forgotten in a test.
func codes(t *testing.T) []selector.Code {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "reason.go", nil, 0)
	require.NoError(t, err)
	var found []selector.Code
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Type == nil {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); !ok || name.Name != "Code" {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		require.NoError(t, err)
		require.Equal(t, spec.Names[0].Name, value, "a code is written as its constant is named")
		found = append(found, selector.Code(value))
		return true
	})
	require.Greater(t, len(found), 10, "codes found in reason.go")
	return found
}
