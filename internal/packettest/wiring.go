package packettest

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/nearside/nearside/internal/netns"
)

// Interfaces: the node has one named "world" and one to its pods; both other
// namespaces know theirs as "node".
const (
	worldInterface = "world"
	farInterface   = "node"
)

// The two ends of every link, and the gateways that stand for them. Nobody
// answers for the gateways: the neighbour entries are permanent.
const (
	nodeMAC  = "02:00:00:00:00:01"
	farMAC   = "02:00:00:00:00:02"
	gateway4 = "169.254.0.1"
	gateway6 = "fe80::1"
)

// batch is a list of commands for ip, without the word ip.
type batch []string

func (b *batch) add(format string, args ...any) { *b = append(*b, fmt.Sprintf(format, args...)) }

// run runs the batch in a namespace.
func (b batch) run(ns *netns.Namespace) error {
	cmd := exec.Command("ip", "-batch", "-") //nolint:noctx // ends by itself
	cmd.Stdin = strings.NewReader(strings.Join(b, "\n") + "\n")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := ns.Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return fmt.Errorf("set up lab by ip: %w\n%s%s", err, out.String(), strings.Join(b, "\n"))
	}
	return nil
}

// wire sets up the three namespaces.
func (l *Lab) wire() error {
	return errors.Join(
		configure(l.Node, nodeSysctls), configure(l.World, farSysctls), configure(l.Pods, farSysctls),
		l.connect(l.World, worldInterface), l.connect(l.Pods, l.opts.PodInterface),
		l.nodeAddresses().run(l.Node),
	)
}

// connect links the node to another namespace.
func (l *Lab) connect(far *netns.Namespace, name string) error {
	err := far.Do(func() error {
		path := fmt.Sprintf("/proc/%d/task/%d/ns/net", os.Getpid(), unix.Gettid())
		var b batch
		b.add("link add %s address %s type veth peer name %s address %s netns %s", name, nodeMAC, farInterface, farMAC, path)
		b.linkUp(name, farMAC)
		return b.run(l.Node)
	})
	if err != nil {
		return err
	}
	var b batch
	b.linkUp(farInterface, nodeMAC)
	b.route("0.0.0.0/0", farInterface, "")
	b.route("::/0", farInterface, "")
	return b.run(far)
}

// linkUp sets up one end of a link whose other end has the given hardware
// address. It gets no IPv6 address of its own: without one the kernel sends no
// redirects and asks for no neighbours.
func (b *batch) linkUp(name, otherMAC string) {
	b.add("link set %s addrgenmode none", name)
	b.add("link set %s up", name)
	for _, gateway := range []string{gateway4, gateway6} {
		b.add("neigh replace %s lladdr %s dev %s nud permanent", gateway, otherMAC, name)
	}
}

// route sends a prefix to the other end of a link.
func (b *batch) route(prefix, name, source string) {
	gateway := gateway4
	if strings.Contains(prefix, ":") {
		gateway = gateway6
	}
	if source != "" {
		source = " src " + source
	}
	b.add("route add %s via %s dev %s onlink%s", prefix, gateway, name, source)
}

func (l *Lab) nodeAddresses() batch {
	var b batch
	seen := map[bool]bool{} // by whether it is IPv4
	for _, a := range l.opts.NodeAddrs {
		if seen[a.Is4()] {
			b.address(a, "lo")
			continue
		}
		seen[a.Is4()] = true
		b.address(a, worldInterface)
		prefix := "0.0.0.0/0"
		if a.Is6() {
			prefix = "::/0"
		}
		b.route(prefix, worldInterface, a.String())
	}
	for _, p := range l.opts.PodPrefixes {
		b.address(p.Masked().Addr().Next(), l.opts.PodInterface)
		b.route(p.Masked().String(), l.opts.PodInterface, "")
	}
	return b
}

// address gives an interface an address without a network around it, usable at
// once.
func (b *batch) address(a netip.Addr, name string) {
	if a.Is6() {
		b.add("addr add %s/128 dev %s nodad", a, name)
		return
	}
	b.add("addr add %s/32 dev %s", a, name)
}

// nodeSysctls are the settings of the node's namespace. Refusals are not rate
// limited: a refusal that is missing must be the ruleset's doing.
var nodeSysctls = map[string]string{
	"ipv4/conf/*/rp_filter":      "0",
	"ipv4/conf/*/send_redirects": "0",
	"ipv4/ip_forward":            "1",
	"ipv4/icmp_ratemask":         "0",
	"ipv6/conf/all/disable_ipv6": "0",
	"ipv6/conf/all/forwarding":   "1",
	"ipv6/icmp/ratelimit":        "0",
}

// farSysctls keep the other namespaces from passing anything on.
var farSysctls = map[string]string{
	"ipv4/conf/*/rp_filter":      "0",
	"ipv4/ip_forward":            "0",
	"ipv6/conf/all/disable_ipv6": "0",
	"ipv6/conf/all/forwarding":   "0",
}

// configure writes settings below /proc/sys/net, which shows every thread the
// settings of its own namespace. A * takes in all interfaces there are, and the
// default for those to come.
func configure(ns *netns.Namespace, settings map[string]string) error {
	return ns.Do(func() error {
		for name, value := range settings {
			files, err := filepath.Glob("/proc/sys/net/" + name)
			if err != nil {
				return err
			}
			if len(files) == 0 {
				return fmt.Errorf("set sysctl net/%s: the kernel has no such setting", name)
			}
			for _, f := range files {
				if err := os.WriteFile(f, []byte(value), 0o600); err != nil {
					return fmt.Errorf("set sysctl net/%s to %s: %w", name, value, err)
				}
			}
		}
		return nil
	})
}

// Bind gives the network stack of a side an address, so that ordinary sockets
// in its namespace can use it. Everything that is not bound is silent, however
// often it is probed; at a bound address the kernel answers, as hosts do.
func (l *Lab) Bind(side Side, addrs ...netip.Addr) error {
	var b batch
	ns, name := l.World, farInterface
	switch side {
	case World:
	case Pods:
		ns = l.Pods
	case Node:
		ns, name = l.Node, "lo"
	}
	for _, a := range addrs {
		b.address(a, name)
	}
	if err := b.run(ns); err != nil {
		return err
	}
	for _, a := range addrs {
		if err := awaitAddress(ns, a); err != nil {
			return err
		}
	}
	return nil
}
