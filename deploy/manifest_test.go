package deploy_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// kustomization is the part of a kustomization.yaml that we use. Another field
// is an error, until it is added here.
type kustomization struct {
	APIVersion         string      `json:"apiVersion"`
	Kind               string      `json:"kind"`
	Namespace          string      `json:"namespace"`
	Resources          []string    `json:"resources"`
	Images             []image     `json:"images"`
	ConfigMapGenerator []generator `json:"configMapGenerator"`
}

type image struct {
	Name    string `json:"name"`
	NewName string `json:"newName"`
	NewTag  string `json:"newTag"`
}

type generator struct {
	Name     string   `json:"name"`
	Literals []string `json:"literals"`
}

// strict decodes manifests and refuses fields that do not exist, or exist twice.
var strict = json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme,
	json.SerializerOptions{Yaml: true, Strict: true})

// load reads one object, of the type that its kind says.
func load[T runtime.Object](t *testing.T, path string) T {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	o, _, err := strict.Decode(text, nil, nil)
	require.NoError(t, err, path)
	object, ok := o.(T)
	require.True(t, ok, "%s holds a %T", path, o)
	return object
}

func daemonSet(t *testing.T) *appsv1.DaemonSet {
	t.Helper()
	return load[*appsv1.DaemonSet](t, "base/daemonset.yaml")
}

func kustomize(t *testing.T, path string) kustomization {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var k kustomization
	require.NoError(t, yaml.UnmarshalStrict(text, &k), path)
	return k
}

func TestDecodingIsStrict(t *testing.T) {
	text, err := os.ReadFile("base/daemonset.yaml")
	require.NoError(t, err)
	for _, wrong := range []string{"dnspolicy:", "dnsPolicyy:", "dnsPolicy: Default\n      dnsPolicy:"} {
		_, _, err := strict.Decode([]byte(strings.Replace(string(text), "dnsPolicy:", wrong, 1)), nil, nil)
		require.Error(t, err, wrong)
	}
}

func TestEveryManifestIsListedAndDecodes(t *testing.T) {
	manifests := 0
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" || strings.HasPrefix(path, "testdata") {
			return err
		}
		if d.Name() == "kustomization.yaml" {
			k := kustomize(t, path)
			require.Equal(t, "kustomize.config.k8s.io/v1beta1", k.APIVersion, path)
			require.Equal(t, "Kustomization", k.Kind, path)
			for _, r := range k.Resources {
				require.FileExists(t, manifestOf(t, filepath.Join(filepath.Dir(path), r)), "a resource of %s", path)
			}
			return nil
		}
		manifests++
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NotContains(t, string(text), "\n---", "%s: one object a file", path)
		_, _, err = strict.Decode(text, nil, nil)
		require.NoError(t, err, path)
		k := kustomize(t, filepath.Join(filepath.Dir(path), "kustomization.yaml"))
		require.Contains(t, k.Resources, d.Name(), "%s is in no kustomization", path)
		return nil
	}))
	require.GreaterOrEqual(t, manifests, 6)
}

// manifestOf is the file that a resource of a kustomization leads to.
func manifestOf(t *testing.T, path string) string {
	t.Helper()
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return filepath.Join(path, "kustomization.yaml")
	}
	return path
}

// TestPermissionsAreThoseOfTheContract holds the role to Y7 of the semantics,
// to the letter: neither more nor less.
func TestPermissionsAreThoseOfTheContract(t *testing.T) {
	role := load[*rbacv1.ClusterRole](t, "base/clusterrole.yaml")
	require.Equal(t, []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"services", "nodes"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{"networking.k8s.io"}, Resources: []string{"servicecidrs"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
	}, role.Rules)
	require.Nil(t, role.AggregationRule)

	account := load[*corev1.ServiceAccount](t, "base/serviceaccount.yaml")
	binding := load[*rbacv1.ClusterRoleBinding](t, "base/clusterrolebinding.yaml")
	require.Equal(t, rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: role.Name}, binding.RoleRef)
	require.Equal(t, []rbacv1.Subject{{Kind: "ServiceAccount", Name: account.Name, Namespace: account.Namespace}}, binding.Subjects)

	ds := daemonSet(t)
	require.Equal(t, account.Name, ds.Spec.Template.Spec.ServiceAccountName)
	require.Equal(t, account.Namespace, ds.Namespace)
}

func TestAgentHasOneCapabilityAndNothingElse(t *testing.T) {
	pod := daemonSet(t).Spec.Template.Spec
	require.Len(t, pod.Containers, 1)
	require.Equal(t, &corev1.SecurityContext{
		RunAsUser: new(int64(0)), RunAsGroup: new(int64(0)),
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"NET_ADMIN"}},
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}, pod.Containers[0].SecurityContext)

	require.Len(t, pod.InitContainers, 1)
	require.Equal(t, &corev1.SecurityContext{Privileged: new(true), ReadOnlyRootFilesystem: new(true)}, pod.InitContainers[0].SecurityContext)
	require.Equal(t, []string{"run", "--init-only"}, pod.InitContainers[0].Args)

	require.True(t, pod.HostNetwork)
	require.False(t, pod.HostPID || pod.HostIPC)
	for _, v := range pod.Volumes {
		require.Nil(t, v.HostPath, "volume %s", v.Name)
	}
}

func TestPodRunsOnEveryNodeBeforeAnythingElse(t *testing.T) {
	ds := daemonSet(t)
	pod := ds.Spec.Template.Spec
	require.Equal(t, "system-node-critical", pod.PriorityClassName)
	require.Contains(t, pod.Containers[0].Args, "--oom-score-adj=-997", "what the kubelet gives to this class")
	require.Equal(t, []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, pod.Tolerations)
	require.Equal(t, ds.Spec.Selector.MatchLabels, ds.Spec.Template.Labels)
	require.Equal(t, corev1.DNSDefault, pod.DNSPolicy)
	for _, c := range append(pod.InitContainers, pod.Containers...) {
		require.Equal(t, "nearside:latest", c.Image, "overlays replace it by name")
		require.NotEmpty(t, c.Resources.Requests)
		require.Empty(t, c.Resources.Limits)
	}
}

// TestOverlayGivesWhatThePodAsksFor: every key of a ConfigMap that the agent's
// environment refers to is in the example, and every image is given a place.
func TestOverlayGivesWhatThePodAsksFor(t *testing.T) {
	k := kustomize(t, "example/kustomization.yaml")
	given := make(map[string]bool)
	for _, g := range k.ConfigMapGenerator {
		for _, l := range g.Literals {
			key, _, ok := strings.Cut(l, "=")
			require.True(t, ok, l)
			given[g.Name+"/"+key] = true
		}
	}
	asked := make(map[string]bool)
	pod := daemonSet(t).Spec.Template.Spec
	for _, e := range pod.Containers[0].Env {
		if e.ValueFrom != nil && e.ValueFrom.ConfigMapKeyRef != nil {
			asked[e.ValueFrom.ConfigMapKeyRef.Name+"/"+e.ValueFrom.ConfigMapKeyRef.Key] = true
		}
	}
	require.Equal(t, asked, given)
	require.Len(t, k.Images, 1)
	require.Equal(t, pod.Containers[0].Image, k.Images[0].Name+":latest")
}
