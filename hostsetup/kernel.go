package hostsetup

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// SkipKernelCheckEnv names the environment variable that, if not empty, has
// CheckKernel approve of every kernel. Distributions put new features into
// kernels with old numbers.
const SkipKernelCheckEnv = "NEARSIDE_SKIP_KERNEL_VERSION_CHECK"

// The oldest kernel whose nf_tables does all that the rules ask for.
const (
	minKernelMajor = 5
	minKernelMinor = 13
)

// CheckKernel returns an error if the running kernel is older than 5.13, unless
// the environment says to go on all the same. Root is as in Options.
func CheckKernel(root string) error {
	if os.Getenv(SkipKernelCheckEnv) != "" {
		return nil
	}
	hint := "set " + SkipKernelCheckEnv + "=1 if it has the features of a newer one"
	b, err := os.ReadFile(newHost(root).path("proc/sys/kernel/osrelease"))
	if err != nil {
		return fmt.Errorf("read kernel version: %w: %s", err, hint)
	}
	release := strings.TrimSpace(string(b))
	major, minor, ok := parseRelease(release)
	switch {
	case !ok:
		return fmt.Errorf("read kernel version: %q does not begin with two numbers: %s", release, hint)
	case major < minKernelMajor || major == minKernelMajor && minor < minKernelMinor:
		return fmt.Errorf("check kernel version: %q is older than %d.%d: use a newer kernel, or %s", release, minKernelMajor, minKernelMinor, hint)
	}
	return nil
}

// parseRelease takes the first two numbers of a release such as
// 6.1.0-28-cloud-amd64.
func parseRelease(release string) (major, minor int, ok bool) {
	first, rest, ok := strings.Cut(release, ".")
	if !ok {
		return 0, 0, false
	}
	second := rest
	if end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		second = rest[:end]
	}
	high, errHigh := strconv.ParseUint(first, 10, 16)
	low, errLow := strconv.ParseUint(second, 10, 16)
	return int(high), int(low), errHigh == nil && errLow == nil
}
