package main

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/nearside/nearside/agent"
	"github.com/nearside/nearside/selector"
)

// nodeFlags are the flags of every command that selects endpoints. Those that
// kube-proxy has are named and preset as there.
type nodeFlags struct {
	nodeName          string
	clusterCIDR       string
	nodePortAddresses []string
	detectLocalMode   string
	podBridge         string
	podPrefix         string
	masqueradeAll     bool
	defaultPolicy     string
}

func (f *nodeFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.nodeName, "node-name", "", "name of this machine's Node object (default: the host name in lower case)")
	flags.StringVar(&f.nodeName, "hostname-override", "", "same as --node-name, for those who come from kube-proxy")
	flags.StringVar(&f.clusterCIDR, "cluster-cidr", "",
		"prefix of the pods' addresses, or an IPv4 and an IPv6 one with a comma between; connections to a ClusterIP from elsewhere are masqueraded")
	flags.StringSliceVar(&f.nodePortAddresses, "nodeport-addresses", []string{"primary"},
		"prefixes of the node addresses that serve node ports, or primary, localhost, all; node ports are never served on loopback addresses")
	flags.StringVar(&f.detectLocalMode, "detect-local-mode", detectClusterCIDR,
		"how connections from pods are told from others: ClusterCIDR, NodeCIDR, BridgeInterface or InterfaceNamePrefix")
	flags.StringVar(&f.podBridge, "pod-bridge-interface", "", "with BridgeInterface, the bridge that pods are connected to")
	flags.StringVar(&f.podPrefix, "pod-interface-name-prefix", "", "with InterfaceNamePrefix, how the names of the pods' interfaces begin")
	flags.BoolVar(&f.masqueradeAll, "masquerade-all", false, "masquerade every connection to a ClusterIP")
	flags.StringVar(&f.defaultPolicy, "default-policy", agent.DefaultPolicyName,
		"policy of services without a valid annotation nearside.dev/policy: "+strings.Join(selector.Names(), ", "))
}

// options returns the agent's options that the flags stand for.
func (f *nodeFlags) options(flags *pflag.FlagSet) (agent.Options, error) {
	if given(flags, "node-name") && given(flags, "hostname-override") {
		return agent.Options{}, usagef("flags --node-name and --hostname-override mean the same: give one of them")
	}
	name, err := f.node()
	if err != nil {
		return agent.Options{}, err
	}
	cidrs, err := agent.ParseClusterCIDRs(f.clusterCIDR)
	if err != nil {
		return agent.Options{}, usagef("flag --cluster-cidr: %w", err)
	}
	nodePorts, err := agent.ParseNodePortAddresses(f.nodePortAddresses)
	if err != nil {
		return agent.Options{}, usagef("flag --nodeport-addresses: %w", err)
	}
	opts := agent.Options{
		NodeName:          name,
		NodePortAddresses: nodePorts,
		MasqueradeAll:     f.masqueradeAll,
		DefaultPolicy:     f.defaultPolicy,
	}
	return opts, f.detect(&opts, cidrs)
}

const detectClusterCIDR = "ClusterCIDR"

// detect sets how pods are told from others (L1). As in kube-proxy, what belongs
// to another mode is not looked at.
func (f *nodeFlags) detect(opts *agent.Options, cidrs []netip.Prefix) error {
	switch f.detectLocalMode {
	case detectClusterCIDR:
		opts.ClusterCIDRs = cidrs
	case "NodeCIDR":
		opts.NodeCIDRs = true
	case "BridgeInterface":
		if f.podBridge == "" {
			return usagef("flag --detect-local-mode=BridgeInterface needs --pod-bridge-interface")
		}
		opts.PodInterface = f.podBridge
	case "InterfaceNamePrefix":
		if f.podPrefix == "" {
			return usagef("flag --detect-local-mode=InterfaceNamePrefix needs --pod-interface-name-prefix")
		}
		opts.PodInterfacePrefix = f.podPrefix
	default:
		return usagef("flag --detect-local-mode: unknown mode %q: expected ClusterCIDR, NodeCIDR, BridgeInterface or InterfaceNamePrefix", f.detectLocalMode)
	}
	return nil
}

// node is the given name, or the host's by the rule of kube-proxy and kubelet.
func (f *nodeFlags) node() (string, error) {
	if name := strings.ToLower(strings.TrimSpace(f.nodeName)); name != "" {
		return name, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("find the host name: %w; give --node-name", err)
	}
	return strings.ToLower(strings.TrimSpace(host)), nil
}

// newAgent makes an agent of options that come from flags: what is wrong with
// them is wrong usage.
func newAgent(opts agent.Options) (*agent.Agent, error) {
	a, err := agent.New(opts)
	if err != nil {
		return nil, &usageError{err}
	}
	return a, nil
}

// noWaitIfZero translates a period for which 0 means none into one for which
// that is negative.
func noWaitIfZero(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}
