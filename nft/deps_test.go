package nft

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDependencies keeps the renderer usable without Kubernetes: who imports
// it gets nothing but the standard library and the netlink modules.
func TestDependencies(t *testing.T) {
	allowed := []string{
		"github.com/nearside/nearside/nft",
		"github.com/mdlayher/netlink", "github.com/mdlayher/socket",
		"golang.org/x/net/bpf", "golang.org/x/sync/errgroup", "golang.org/x/sys/unix",
	}
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	require.NoError(t, err)
	for path := range strings.FieldsSeq(string(out)) {
		ok := false
		for _, a := range allowed {
			ok = ok || path == a || strings.HasPrefix(path, a+"/")
		}
		require.True(t, ok, "nft may not import %s: it has to stay free of Kubernetes and small", path)
	}
}
