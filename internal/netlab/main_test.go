package netlab

import (
	"context"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/internal/netns"
)

// childLab makes the test binary a process that builds a lab and then waits to
// be killed.
const childLab = "NETLAB_TEST_CHILD_LAB"

func TestMain(m *testing.M) {
	if name := os.Getenv(childLab); name != "" {
		runChildLab(name)
		return
	}
	m.Run()
}

func runChildLab(name string) {
	lab, err := New(context.Background(), Options{Name: name})
	if err == nil {
		_, err = lab.AddHost(context.Background(), "alpha")
	}
	_, _ = fmt.Fprintln(os.Stdout, err)
	time.Sleep(time.Minute)
}

// newLab makes a lab whose removal is checked at the end of the test.
func newLab(t *testing.T) *Lab {
	t.Helper()
	netns.RequireRoot(t)
	name := "nearside-test"
	lab, err := New(t.Context(), Options{Name: name})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, lab.Close())
		names, err := Namespaces(fmt.Sprintf("%s-%d", name, os.Getpid()))
		require.NoError(t, err)
		require.Empty(t, names, "namespaces of this lab after Close")
	})
	return lab
}

func hostInterfaces(t *testing.T) []string {
	t.Helper()
	list, err := net.Interfaces()
	require.NoError(t, err)
	var names []string
	for _, i := range list {
		names = append(names, i.Name)
	}
	return names
}
