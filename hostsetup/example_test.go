package hostsetup_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nearside/nearside/hostsetup"
)

// What an agent does at its start, here with a directory in the place of the
// host's proc and sys.
func ExampleApply() {
	root, err := os.MkdirTemp("", "host")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)
	for name, value := range map[string]string{
		"sys/devices/system/cpu/online":                               "0-7",
		"sys/module/nf_conntrack/parameters/hashsize":                 "65536",
		"proc/sys/net/netfilter/nf_conntrack_max":                     "65536",
		"proc/sys/net/netfilter/nf_conntrack_tcp_timeout_established": "432000",
		"proc/sys/net/netfilter/nf_conntrack_tcp_timeout_close_wait":  "3600",
	} {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(value), 0o600)); err != nil {
			fmt.Println(err)
			return
		}
	}

	options := hostsetup.Defaults()
	options.Root = root
	changes, err := hostsetup.Apply(context.Background(), options)
	for _, c := range changes {
		fmt.Printf("%s: %d, was %d\n", c.Setting, c.To, c.From)
	}
	if errors.Is(err, hostsetup.ErrNotLoaded) {
		fmt.Println("warning: to be tried again after the first commit:", err)
	} else if err != nil {
		fmt.Println("giving up:", err)
	}
	// Output:
	// nf_conntrack_max: 262144, was 65536
	// nf_conntrack_tcp_timeout_established: 86400, was 432000
}
