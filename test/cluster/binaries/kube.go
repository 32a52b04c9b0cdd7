package binaries

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// Name is the name of a program of the control plane, and of its file.
type Name string

// The programs that test/cluster/kube can build.
const (
	Etcd                  Name = "etcd"
	KubeAPIServer         Name = "kube-apiserver"
	KubeControllerManager Name = "kube-controller-manager"
	KubeProxy             Name = "kube-proxy"
)

// packages are the main packages behind the names; the tool lines of
// test/cluster/kube/go.mod keep them in that module's dependencies.
var packages = map[Name]string{
	Etcd:                  "go.etcd.io/etcd/server/v3",
	KubeAPIServer:         "k8s.io/kubernetes/cmd/kube-apiserver",
	KubeControllerManager: "k8s.io/kubernetes/cmd/kube-controller-manager",
	KubeProxy:             "k8s.io/kubernetes/cmd/kube-proxy",
}

var kubeVersion = regexp.MustCompile(`k8s\.io/kubernetes (v(\d+)\.(\d+)\.\d+)`)

// Kube is the built control plane of one Kubernetes version.
type Kube struct {
	// Version is the Kubernetes version, such as "v1.37.2".
	Version string
	// Dir is the folder of the programs. It may not exist yet.
	Dir string

	module       string // folder of the go.mod that builds them
	recipe       string // digest of that go.mod and go.sum
	major, minor string
}

// OpenKube reads which version the checkout asks for. It builds nothing.
func OpenKube() (*Kube, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	k := &Kube{module: filepath.Join(root, "test", "cluster", "kube")}
	mod, err := os.ReadFile(filepath.Join(k.module, "go.mod"))
	if err != nil {
		return nil, fmt.Errorf("read the version of Kubernetes: %w", err)
	}
	sum, err := os.ReadFile(filepath.Join(k.module, "go.sum"))
	if err != nil {
		return nil, fmt.Errorf("read the version of Kubernetes: %w", err)
	}
	match := kubeVersion.FindSubmatch(mod)
	if match == nil {
		return nil, fmt.Errorf("read the version of Kubernetes: %s requires no k8s.io/kubernetes v1.X.Y", filepath.Join(k.module, "go.mod"))
	}
	digest := sha256.Sum256(bytes.Join([][]byte{mod, sum}, nil))
	k.Version, k.major, k.minor = string(match[1]), string(match[2]), string(match[3])
	k.recipe = hex.EncodeToString(digest[:])
	k.Dir = filepath.Join(root, ".cache", "kube-"+k.Version)
	return k, nil
}

// Missing returns those of the named programs that have to be built: they are
// not there, or come from another go.mod or go.sum.
func (k *Kube) Missing(names ...Name) []Name {
	var missing []Name
	for _, name := range names {
		recipe, err := os.ReadFile(k.recipeFile(name))
		_, binaryErr := os.Stat(k.Path(name))
		if err != nil || binaryErr != nil || string(recipe) != k.recipe {
			missing = append(missing, name)
		}
	}
	return missing
}

// Path returns the file of a program, whether built or not.
func (k *Kube) Path(name Name) string { return filepath.Join(k.Dir, string(name)) }

func (k *Kube) recipeFile(name Name) string { return k.Path(name) + ".recipe" }

// Build builds those of the named programs that are missing, one after the
// other, and tells on progress what it does. Only one process builds at a time;
// another one waits for it. Build needs the module cache or a module proxy.
func (k *Kube) Build(ctx context.Context, progress io.Writer, names ...Name) error {
	if len(k.Missing(names...)) == 0 {
		return nil
	}
	if err := os.MkdirAll(k.Dir, 0o750); err != nil {
		return fmt.Errorf("build Kubernetes %s: %w", k.Version, err)
	}
	unlock, err := lock(filepath.Join(k.Dir, "lock"))
	if err != nil {
		return fmt.Errorf("build Kubernetes %s: %w", k.Version, err)
	}
	defer unlock()
	for _, name := range k.Missing(names...) {
		if err := k.build(ctx, progress, name); err != nil {
			return err
		}
	}
	return nil
}

func (k *Kube) build(ctx context.Context, progress io.Writer, name Name) error {
	pkg, ok := packages[name]
	if !ok {
		return fmt.Errorf("build %q: no such program of the control plane", name)
	}
	fmt.Fprintf(progress, "building %s for Kubernetes %s (some minutes when nothing is cached)\n", name, k.Version)
	// The program appears under its name only when it is complete.
	unfinished := k.Path(name) + ".unfinished"
	err := goBuild(ctx, k.module, progress, "-trimpath", "-ldflags", k.ldflags(name), "-o", unfinished, pkg)
	if err != nil {
		return fmt.Errorf("build %s for Kubernetes %s: %w", name, k.Version, err)
	}
	err = errors.Join(
		os.Rename(unfinished, k.Path(name)),
		os.WriteFile(k.recipeFile(name), []byte(k.recipe), 0o600),
	)
	if err != nil {
		return fmt.Errorf("keep %s in the cache: %w", name, err)
	}
	return nil
}

// ldflags gives the programs of Kubernetes their version: built as a module
// they would report v0.0.0-master, which kubectl and version checks dislike.
func (k *Kube) ldflags(name Name) string {
	flags := []string{"-s", "-w"}
	if name != Etcd {
		for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
			flags = append(flags,
				"-X", pkg+".gitVersion="+k.Version,
				"-X", pkg+".gitMajor="+k.major,
				"-X", pkg+".gitMinor="+k.minor)
		}
	}
	return strings.Join(flags, " ")
}

// lock takes the lock of the cache, waiting for another process that has it.
// The kernel releases it when the process ends, however it ends.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}
