package cluster_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nearside/nearside/test/cluster/objects"
)

// apiserver runs the script with a folder for the control plane.
func apiserver(t *testing.T, dir, verb string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join("..", "apiserver.sh"), verb, "--dir", dir)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err = cmd.Run()
	return out.String(), problems.String(), err
}

// TestScript uses the script as people do: what start starts outlives it, and
// stop leaves nothing behind.
func TestScript(t *testing.T) {
	requireRoot(t)
	setUpNetwork(t)
	dir := filepath.Join(t.TempDir(), "plane")

	_, stderr, err := apiserver(t, dir, "status")
	require.Error(t, err)
	require.Contains(t, stderr, "run test/apiserver.sh start")

	stdout, stderr, err := apiserver(t, dir, "start")
	t.Cleanup(func() { // stopping twice is no error
		cmd := exec.Command(filepath.Join("..", "apiserver.sh"), "stop", "--dir", dir)
		require.NoError(t, cmd.Run())
	})
	require.NoError(t, err, stderr)
	requireUsable(t, strings.TrimSpace(stdout))

	stdout, stderr, err = apiserver(t, dir, "status")
	require.NoError(t, err, stderr)
	require.Equal(t, 2, strings.Count(stdout, "): ready\n"), "etcd and kube-apiserver: %s", stdout)

	_, stderr, err = apiserver(t, dir, "start")
	require.Error(t, err)
	require.Contains(t, stderr, "run test/apiserver.sh stop")

	_, stderr, err = apiserver(t, dir, "stop")
	require.NoError(t, err, stderr)
	require.NoDirExists(t, dir)
	_, _, err = apiserver(t, dir, "status")
	require.Error(t, err)
}

// requireUsable creates a service with the kubeconfig.
func requireUsable(t *testing.T, kubeconfig string) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	service := objects.Service(namespace, "some", objects.Port(corev1.ProtocolTCP, 80))
	service, err = client.CoreV1().Services(namespace).Create(t.Context(), service, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, service.Spec.ClusterIP)
}
