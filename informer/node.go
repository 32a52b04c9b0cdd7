package informer

import (
	corev1 "k8s.io/api/core/v1"
)

// convertNode reads the only thing that matters of a Node, its zone (T6: no
// other label causes work).
func convertNode(node *corev1.Node) change {
	f := findings{kind: kindNode.String(), object: objectText("", node.Name)}
	name := node.Labels[corev1.LabelTopologyZone]
	return change{
		key:      key{kindNode, Name{Name: node.Name}},
		record:   zone(f.topology("metadata.labels["+corev1.LabelTopologyZone+"]", name)),
		problems: f.list,
	}
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
