package informer

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// taintLeaving is put on a node that the cluster autoscaler is about to remove.
const taintLeaving = "ToBeDeletedByClusterAutoscaler"

// convertNode reads what matters of the proxy's own Node. Its labels but for
// the zone, and its status but for the addresses, cause no work (T6).
func convertNode(node *corev1.Node) change {
	f := findings{kind: kindNode.String(), object: objectText("", node.Name)}
	name := node.Labels[corev1.LabelTopologyZone]
	record := &ownNode{
		zone:      f.topology("metadata.labels["+corev1.LabelTopologyZone+"]", name),
		addresses: f.nodeAddresses(node.Status.Addresses),
		podCIDRs:  f.podCIDRs(&node.Spec),
		leaving:   node.DeletionTimestamp != nil,
	}
	for i := range node.Spec.Taints {
		record.leaving = record.leaving || node.Spec.Taints[i].Key == taintLeaving
	}
	return change{key: key{kindNode, Name{Name: node.Name}}, record: record, problems: f.list}
}

// nodeAddresses returns the internal addresses and then the external ones, each
// once, in the order of the object.
func (f *findings) nodeAddresses(list []corev1.NodeAddress) []netip.Addr {
	var out []netip.Addr
	for _, kind := range []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeExternalIP} {
		for i := range list {
			if list[i].Type != kind || list[i].Address == "" {
				continue
			}
			addr, reason := serviceAddr(list[i].Address)
			if reason != "" {
				f.add("status.addresses", list[i].Address, reason+"; it is left out")
				continue
			}
			if !slices.Contains(out, addr) {
				out = append(out, addr)
			}
		}
	}
	return out
}

// podCIDRs returns the addresses of the node's pods. spec.podCIDR is the first
// of spec.podCIDRs, and all that old objects have.
func (f *findings) podCIDRs(spec *corev1.NodeSpec) []netip.Prefix {
	texts := spec.PodCIDRs
	if len(texts) == 0 && spec.PodCIDR != "" {
		texts = []string{spec.PodCIDR}
	}
	var out []netip.Prefix
	for _, text := range texts {
		p, reason := parsePrefix(text)
		if reason != "" {
			f.add("spec.podCIDRs", text, reason+"; it is left out")
			continue
		}
		out = append(out, p)
	}
	return out
}

func countNode(name string) change {
	return change{key: key{kindNodeName, Name{Name: name}}, record: counted{}}
}

// missingNode says that the proxy's own Node object does not exist.
func missingNode(name string) Problem {
	return Problem{
		Kind: kindNode.String(), Object: objectText("", name),
		Reason: "does not exist; its zone is not known, so zone hints have no effect",
	}
}

// maxTopology is the length of the longest name of a node; zones are shorter.
const maxTopology = 253

// topology checks the name of a node or zone. One that could not be a name of
// either is reported and taken as not known, which is always safe: an endpoint
// on no known node is not local.
func (f *findings) topology(field, name string) string {
	if len(name) <= maxTopology && plain(name) {
		return name
	}
	f.add(field, name, "is not a name of a node or zone; taken as not known")
	return ""
}
