package main

import (
	"fmt"
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
	masqueradeAll     bool
	defaultPolicy     string
}

func (f *nodeFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.nodeName, "node-name", "", "name of this machine's Node object (default: the host name in lower case)")
	flags.StringVar(&f.nodeName, "hostname-override", "", "same as --node-name, for those who come from kube-proxy")
	flags.StringVar(&f.clusterCIDR, "cluster-cidr", "",
		"prefix of the pods' addresses, or an IPv4 and an IPv6 one with a comma between; connections to a ClusterIP from elsewhere are masqueraded")
	flags.StringSliceVar(&f.nodePortAddresses, "nodeport-addresses", []string{"primary"},
		"prefixes of the node addresses that serve node ports, or primary, localhost, all; checked, but node ports are not served yet")
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
	return agent.Options{
		NodeName:          name,
		ClusterCIDRs:      cidrs,
		NodePortAddresses: nodePorts,
		MasqueradeAll:     f.masqueradeAll,
		DefaultPolicy:     f.defaultPolicy,
	}, nil
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
