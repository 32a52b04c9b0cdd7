package hostsetup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Change is a setting that was written.
type Change struct {
	// Setting is its name, such as "nf_conntrack_max".
	Setting string
	// From and To are the values before and after.
	From, To int
}

// setting is a file of the kernel that holds a number.
type setting struct {
	name string
	path string
	// leave says how to have it left alone, for instance
	// "--conntrack-max-per-core=0".
	leave string
}

// Error is a setting that is not as it should be.
type Error struct {
	// Setting is its name, such as "nf_conntrack_max".
	Setting string
	// Want is the value it should have.
	Want int
	// Leave is the flag that has the setting left alone, for instance
	// "--conntrack-max-per-core=0".
	Leave string
	// Err says why it could not be read or written.
	Err error
}

// Error returns the error as one line that says what to do.
func (e *Error) Error() string {
	hint := "set it on the host beforehand"
	if errors.Is(e.Err, fs.ErrNotExist) {
		hint = "this kernel has no such setting: do without it"
	}
	return fmt.Sprintf("set %s to %d: %v: %s, or have it left alone by %s", e.Setting, e.Want, e.Err, hint, e.Leave)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

func (s setting) errorf(want int, err error) error {
	return &Error{Setting: s.name, Want: want, Leave: s.leave, Err: err}
}

// set gives the setting a value, unless it has it.
func (s setting) set(want int) ([]Change, error) {
	return s.change(want, func(have int) bool { return have != want })
}

// raise gives the setting a value, unless it is at least that.
func (s setting) raise(want int) ([]Change, error) {
	return s.change(want, func(have int) bool { return have < want })
}

func (s setting) change(want int, needed func(have int) bool) ([]Change, error) {
	have, err := readNumber(s.path)
	if err != nil {
		return nil, s.errorf(want, err)
	}
	if !needed(have) {
		return nil, nil
	}
	if err := writeNumber(s.path, want); err != nil {
		return nil, s.errorf(want, err)
	}
	return []Change{{Setting: s.name, From: have, To: want}}, nil
}

func readNumber(path string) (int, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0, fmt.Errorf("read %s: %q is not a number", path, strings.TrimSpace(string(b)))
	}
	return n, nil
}

// writeNumber writes to a file that exists: settings are never created.
func writeNumber(path string, n int) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strconv.Itoa(n))
	return errors.Join(err, f.Close())
}

// host is the directory that proc and sys are mounted in.
type host string

func newHost(root string) host {
	if root == "" {
		root = "/"
	}
	return host(root)
}

func (h host) path(elements ...string) string {
	return filepath.Join(append([]string{string(h)}, elements...)...)
}

// sysctl is a setting of conntrack, in the network namespace of the calling
// thread.
func (h host) sysctl(name, leave string) setting {
	return setting{name: name, path: h.path("proc/sys/net/netfilter", name), leave: leave}
}
