package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/nft"
	"github.com/nearside/nearside/selector"
)

// Defaults of Options, equal to those of kube-proxy where it has the setting.
const (
	DefaultMinSyncPeriod = time.Second
	DefaultHealthTimeout = time.Minute
	DefaultPolicyName    = "Cluster"
)

// Options configures an Agent. NodeName and Source are required; the zero value
// of every other field is a safe default. New checks the options once.
type Options struct {
	// NodeName is the name of the Node object of this machine. Required: a
	// wrong name silently breaks every decision that depends on the node.
	NodeName string

	// Source feeds Services, EndpointSlices and Nodes. Required by Run, Once and
	// Render.
	Source informer.Source

	// Selectors are the policies that the annotation nearside.dev/policy and
	// DefaultPolicy may name. Nil means the built-in ones. Each is held to the
	// rules of the Service API by selector.Enforce, so a mistake in a selector
	// cannot widen a Local traffic policy.
	Selectors map[string]selector.Selector

	// DefaultPolicy names the selector of services without a valid annotation.
	// Empty means "Cluster".
	DefaultPolicy string

	// ClusterCIDRs are the addresses of pods, at most one prefix per IP family.
	// Connections to a ClusterIP from outside them are masqueraded, so that
	// answers come back through this node. A family without one is never
	// masqueraded for that reason.
	ClusterCIDRs []netip.Prefix

	// NodeCIDRs takes the pod ranges of the Node object in place of
	// ClusterCIDRs, and follows their changes: pods of other nodes then count as
	// clients from elsewhere.
	NodeCIDRs bool

	// PodInterface and PodInterfacePrefix tell pods by the interface that their
	// packets come in through, in place of ClusterCIDRs: its name, or how it
	// begins.
	PodInterface, PodInterfacePrefix string

	// MasqueradeAll masquerades every connection to a ClusterIP. Endpoints then
	// see the node's address in place of the client's; worth it only where
	// routing needs it.
	MasqueradeAll bool

	// NodePortAddresses says which addresses of the node serve node ports. The
	// zero value means the node's primary address in each family.
	NodePortAddresses NodePortAddresses

	// Families are the IP families to program. Empty means IPv4, and IPv6 where
	// the kernel has it.
	Families []nft.Family

	// MinSyncPeriod is the least time between the end of one round and the start
	// of the next; changes in between are handled together. A longer period
	// saves work in bursts and delays single changes that follow each other; the
	// first change after a quiet time is never delayed. Zero means one second;
	// negative means no wait.
	MinSyncPeriod time.Duration

	// HealthTimeout is how long a change may wait for a successful round before
	// the agent counts as unhealthy. Zero means one minute, which is twice the
	// longest wait between two attempts.
	HealthTimeout time.Duration

	// HealthzAddress is the TCP address of the HTTP server for /healthz and
	// /livez. Empty means no such server.
	HealthzAddress string

	// MetricsAddress is the TCP address of the HTTP server for /metrics. Empty
	// means no such server.
	MetricsAddress string

	// Socket is the path of a unix socket on which the running agent explains
	// its selections; see ExplainFrom. It gets mode 0600 and is removed at the
	// end. Empty means no socket.
	Socket string

	// Kernel is where transactions go. Nil means nftables in the network
	// namespace of the thread that calls Run or Once.
	Kernel Kernel

	// Flows is where stale UDP flows are deleted. Nil means the kernel's
	// conntrack in the same network namespace, or none where Kernel is given.
	Flows Flows

	// Log receives messages. Nil means no logs.
	Log *slog.Logger

	// OnNotice is called for everything about an object that the agent had to
	// skip, reduce or hold back; the place to make a Kubernetes Event. One call
	// is made at a time, by the round or by the source, both of which wait for
	// it. Nil means nothing is called.
	OnNotice func(Notice)

	// OnRound is called after every round with what the round did. It runs
	// within the round, so it must not block. Nil means nothing is called.
	OnRound func(Round)

	// OnProgress is called during a round when a step begins and every thousand
	// services, for people who wait. Nil means nothing is called.
	OnProgress func(Progress)
}

// withDefaults returns the options with every default filled in, or an error
// that says what to do about each invalid field.
func (o Options) withDefaults() (Options, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Selectors == nil {
		o.Selectors = builtinSelectors()
	}
	if o.DefaultPolicy == "" {
		o.DefaultPolicy = DefaultPolicyName
	}
	if o.MinSyncPeriod == 0 {
		o.MinSyncPeriod = DefaultMinSyncPeriod
	}
	o.MinSyncPeriod = max(o.MinSyncPeriod, 0)
	if o.HealthTimeout == 0 {
		o.HealthTimeout = DefaultHealthTimeout
	}
	if o.NodePortAddresses.IsZero() {
		o.NodePortAddresses.Primary = true
	}
	return o, o.validate()
}

func (o *Options) validate() error {
	return errors.Join(
		o.validateNode(),
		o.validatePolicies(),
		validateClusterCIDRs(o.ClusterCIDRs),
		o.validateFamilies(),
		o.validateDetection(),
		o.validateHealthTimeout(),
	)
}

func (o *Options) validateNode() error {
	switch {
	case o.NodeName == "":
		return errors.New("node name is empty: give the name of this machine's Node object")
	case strings.TrimSpace(o.NodeName) != o.NodeName || strings.ContainsAny(o.NodeName, "/ \t\n"):
		return fmt.Errorf("node name %q is not a name: give the name of this machine's Node object", o.NodeName)
	}
	return nil
}

func (o *Options) validatePolicies() error {
	for name, s := range o.Selectors {
		if name == "" || strings.TrimSpace(name) != name {
			return fmt.Errorf("selector name %q is not a name: expected a word such as %q", name, DefaultPolicyName)
		}
		if s == nil {
			return fmt.Errorf("selector %q is nil: give a selector or leave the name out", name)
		}
	}
	if _, ok := o.Selectors[o.DefaultPolicy]; !ok {
		return fmt.Errorf("unknown default policy %q: expected one of %s", o.DefaultPolicy, quotedNames(o.Selectors))
	}
	return nil
}

func (o *Options) validateFamilies() error {
	for i, f := range o.Families {
		if f != nft.IPv4 && f != nft.IPv6 {
			return fmt.Errorf("unknown IP family %d: expected nft.IPv4 or nft.IPv6", f)
		}
		if slices.Contains(o.Families[:i], f) {
			return fmt.Errorf("IP family %s is given twice: name it once", f)
		}
	}
	return nil
}

func (o *Options) validateHealthTimeout() error {
	if o.HealthTimeout < 0 {
		return fmt.Errorf("health timeout %s is negative: give a positive duration, or 0 for %s",
			o.HealthTimeout, DefaultHealthTimeout)
	}
	return nil
}

// validateDetection has the table look at everything but the node's own ranges,
// which are not known yet.
func (o *Options) validateDetection() error {
	if o.NodeCIDRs && (len(o.ClusterCIDRs) > 0 || o.PodInterface != "" || o.PodInterfacePrefix != "") {
		return errors.New("the pod ranges of the node are asked for together with another way to tell pods: give one of them")
	}
	for _, f := range nft.Families {
		if err := o.tableConfig(f, nil).Validate(); err != nil {
			return err
		}
	}
	return nil
}

// tableConfig returns the configuration of a family's table, on a node whose
// pods have the given ranges.
func (o *Options) tableConfig(f nft.Family, nodeCIDRs []netip.Prefix) nft.Config {
	ranges := o.ClusterCIDRs
	if o.NodeCIDRs {
		ranges = nodeCIDRs
	}
	return nft.Config{
		Family: f, ClusterCIDR: firstOfFamily(ranges, f), MasqueradeAll: o.MasqueradeAll,
		PodInterface: o.PodInterface, PodInterfacePrefix: o.PodInterfacePrefix,
	}
}

// tellsPods reports whether pods are told from other clients in a family.
func (o *Options) tellsPods(f nft.Family) bool {
	return o.NodeCIDRs || o.PodInterface != "" || o.PodInterfacePrefix != "" || firstOfFamily(o.ClusterCIDRs, f).IsValid()
}

// firstOfFamily returns the first prefix of a family, or the zero prefix (L1).
func firstOfFamily(prefixes []netip.Prefix, f nft.Family) netip.Prefix {
	for _, p := range prefixes {
		if nft.FamilyOf(p.Addr()) == f {
			return p
		}
	}
	return netip.Prefix{}
}

func quotedNames(selectors map[string]selector.Selector) string {
	names := slices.Sorted(maps.Keys(selectors))
	for i, n := range names {
		names[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(names, ", ")
}
