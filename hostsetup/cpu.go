package hostsetup

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// onlineCPUs counts the CPUs that the host has online. The process may be kept
// to some of them: connections are not.
func onlineCPUs(h host) (int, error) {
	path := h.path("sys/devices/system/cpu/online")
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("count CPUs: %w", err)
	}
	n, ok := countList(strings.TrimSpace(string(b)))
	if !ok {
		return 0, fmt.Errorf("count CPUs: %q in %s is not a list such as 0-3,5", strings.TrimSpace(string(b)), path)
	}
	return n, nil
}

// countList counts the numbers in a list such as 0-3,5
// (Documentation/admin-guide/cputopology.rst of the kernel).
func countList(list string) (n int, ok bool) {
	for part := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		from, err := strconv.ParseUint(low, 10, 16)
		if err != nil {
			return 0, false
		}
		to, err := strconv.ParseUint(high, 10, 16)
		if err != nil || to < from {
			return 0, false
		}
		n += int(to-from) + 1
	}
	return n, true
}
