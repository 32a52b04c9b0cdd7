package netlab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"sync"
	"time"
)

// Errors of New, to be tested with errors.Is.
var (
	// ErrNotRoot means that the process may not make network namespaces.
	ErrNotRoot = errors.New("root is needed to make network namespaces: run it as root, for instance with sudo")
	// ErrNoIP means that the program ip is not installed.
	ErrNoIP = errors.New("the program ip is needed to build networks and was not found: install it, for instance with apt-get install iproute2")
)

// closeTimeout bounds Close; deleting a dozen names takes some milliseconds.
const closeTimeout = 10 * time.Second

// Options configures a Lab.
type Options struct {
	// Name begins the name of every namespace, in lower-case letters, digits
	// and dashes. Labs of the same name clean up after each other. Required.
	Name string
}

// Lab is a set of hosts that are made and removed together.
type Lab struct {
	prefix string // of the names of its namespaces
	ip     string // path of the program

	mu     sync.Mutex
	hosts  map[string]*Host
	closed bool
}

var labName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// New makes an empty lab and removes what killed processes left of earlier labs
// of that name. The error is ErrNotRoot or ErrNoIP when something is missing on
// this machine.
func New(ctx context.Context, opts Options) (*Lab, error) {
	if !labName.MatchString(opts.Name) {
		return nil, fmt.Errorf("make lab %q: expected a name of lower-case letters, digits and dashes", opts.Name)
	}
	if os.Geteuid() != 0 {
		return nil, ErrNotRoot
	}
	ip, err := findIP("ip", "/usr/sbin/ip", "/sbin/ip")
	if err != nil {
		return nil, err
	}
	if _, err := removeLeftovers(ctx, ip, opts.Name); err != nil {
		return nil, fmt.Errorf("remove what an earlier %s left behind: %w", opts.Name, err)
	}
	return &Lab{
		prefix: fmt.Sprintf("%s-%d-", opts.Name, os.Getpid()),
		ip:     ip,
		hosts:  make(map[string]*Host),
	}, nil
}

// findIP returns the first of the programs that there is. They include paths
// where a PATH made for ordinary users does not lead.
func findIP(names ...string) (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNoIP
}

// AddHost makes a host with nothing but its loopback interface, which is up.
func (l *Lab) AddHost(ctx context.Context, name string) (*Host, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, fmt.Errorf("add host %q: the lab is closed", name)
	}
	if _, ok := l.hosts[name]; ok {
		return nil, fmt.Errorf("add host %q: there is one of that name already", name)
	}
	h := &Host{Name: name, Namespace: l.prefix + name, lab: l}
	err := onThread(func() (err error) {
		h.ns, err = newNamespace()
		return err
	}, func() error { return h.publish(ctx) })
	if h.ns != nil {
		l.hosts[name] = h // also after an error, so that Close removes it
	}
	if err != nil {
		return nil, fmt.Errorf("add host %q: %w", name, err)
	}
	return h, nil
}

// publish gives the calling thread's new namespace its name. The name comes
// after the open file that shows that the lab is alive, so that no other lab
// can take it for a leftover.
func (h *Host) publish(ctx context.Context) error {
	var b Batch
	b.Add("netns attach %s %d", h.Namespace, currentThread())
	b.Add("link set lo up")
	return b.run(ctx, h.lab.ip, false)
}

// Close removes all hosts. What still runs in a host goes on without a network,
// so end it before. Further calls do nothing.
func (l *Lab) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	// Clean-up has to work when the context of everything else has ended.
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var names []string
	for _, h := range l.hosts {
		names = append(names, h.Namespace)
	}
	slices.Sort(names)
	err := removeNamespaces(ctx, l.ip, names)
	for _, h := range l.hosts {
		_ = h.ns.Close()
	}
	if err != nil {
		return fmt.Errorf("remove network namespaces: %w", err)
	}
	return nil
}
