package deploy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// containerVariable holds a containerSetup when this test program is started in
// place of a container runtime.
const containerVariable = "NEARSIDE_TEST_CONTAINER"

// containerSetup is what a runtime makes of the manifest.
type containerSetup struct {
	// Root is an empty folder that becomes the container's root; Program and
	// Manifests are put into it.
	Root, Program, Manifests string
	// Args and Env are those of the program.
	Args, Env []string
	// Capabilities are what is left of root's; nil means all.
	Capabilities []uintptr
	// Privileged leaves /proc/sys writable.
	Privileged bool
}

// becomeContainer turns this process, which has mount and process namespaces of
// its own, into the container, as a runtime does: it returns only on failure.
func becomeContainer(text string) error {
	runtime.LockOSThread()
	var s containerSetup
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	for _, step := range []func(*containerSetup) error{makeRoot, enterRoot, dropPower} {
		if err := step(&s); err != nil {
			return err
		}
	}
	return fmt.Errorf("start /nearside: %w", syscall.Exec("/nearside", append([]string{"nearside"}, s.Args...), s.Env))
}

// makeRoot puts into the root what the image and the pod hold.
func makeRoot(s *containerSetup) error {
	type mount struct {
		source, target, kind string
		flags                uintptr
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	const safe = unix.MS_NOSUID | unix.MS_NODEV
	mounts := []mount{
		{"tmpfs", "", "tmpfs", safe},
		{"proc", "proc", "proc", safe | unix.MS_NOEXEC},
		{"sysfs", "sys", "sysfs", safe | unix.MS_NOEXEC | unix.MS_RDONLY},
		{"tmpfs", "run/nearside", "tmpfs", safe | unix.MS_NOEXEC},
		{s.Manifests, "manifests", "", unix.MS_BIND},
	}
	if !s.Privileged {
		mounts = append(mounts, mount{"proc/sys", "proc/sys", "", unix.MS_BIND})
	}
	for _, m := range mounts {
		target := filepath.Join(s.Root, m.target)
		if m.source == "proc/sys" {
			m.source = target
		} else if err := os.MkdirAll(target, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.source, target, m.kind, m.flags, ""); err != nil {
			return fmt.Errorf("mount %s: %w", target, err)
		}
	}
	readOnly := []string{"manifests"}
	if !s.Privileged {
		readOnly = append(readOnly, "proc/sys")
	}
	for _, target := range readOnly {
		if err := unix.Mount("", filepath.Join(s.Root, target), "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			return fmt.Errorf("make %s read-only: %w", target, err)
		}
	}
	image, err := os.ReadFile(s.Program)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.Root, "nearside"), image, 0o755)
}

// enterRoot makes the root the only thing there is, and read-only.
func enterRoot(s *containerSetup) error {
	if err := unix.Chdir(s.Root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount the old root: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
		return fmt.Errorf("make the root read-only: %w", err)
	}
	return unix.Chdir("/")
}

// dropPower leaves the given capabilities, and no way to get more.
func dropPower(s *containerSetup) error {
	if s.Capabilities == nil {
		return nil
	}
	keep := make(map[uintptr]bool)
	for _, c := range s.Capabilities {
		keep[c] = true
	}
	for c := uintptr(0); ; c++ {
		if keep[c] {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if err == unix.EINVAL {
			break // past the last one the kernel has
		}
		if err != nil {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	return nil
}
