package selector_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestImportsTheStandardLibraryOnly keeps the promise that whoever takes this
// package alone gets nothing else with it.
func TestImportsTheStandardLibraryOnly(t *testing.T) {
	const self = "github.com/nearside/nearside/selector"
	cmd := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".")
	out, err := cmd.Output()
	require.NoError(t, err, "go list -deps")
	foreign := strings.Fields(string(out))
	require.Contains(t, foreign, self, "go list must see this package, or it proves nothing")
	for _, path := range foreign {
		require.Equal(t, self, path, "%s must not be a dependency: other proxies use the selectors "+
			"without Kubernetes, netlink or anything else; move what needs it to package agent", path)
	}
}
