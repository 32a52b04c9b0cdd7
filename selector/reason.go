package selector

// The codes of the built-in policies and of [Enforce]. They are stable: a code
// never changes its meaning, though new ones may come. Selectors of one's own
// may use these or others.
const (
	// AllReady: every ready endpoint was chosen, and none has a topology hint.
	AllReady Code = "AllReady"
	// NodeHint: the ready endpoints whose hints name this node were chosen.
	NodeHint Code = "NodeHint"
	// ZoneHint: the ready endpoints whose hints name this node's zone were
	// chosen.
	ZoneHint Code = "ZoneHint"
	// HintsElsewhere: every ready endpoint was chosen, because all have hints and
	// none names this node or its zone.
	HintsElsewhere Code = "HintsElsewhere"
	// HintsIncomplete: every ready endpoint was chosen, because some lack hints
	// that others have.
	HintsIncomplete Code = "HintsIncomplete"
	// NodeZoneUnknown: every ready endpoint was chosen, because this node has no
	// zone that hints could name.
	NodeZoneUnknown Code = "NodeZoneUnknown"
	// TerminatingOnly: no endpoint is ready, so all that are terminating and
	// still serving were chosen.
	TerminatingOnly Code = "TerminatingOnly"
	// LocalReady: the ready endpoints on this node were chosen.
	LocalReady Code = "LocalReady"
	// LocalTerminating: the traffic policy is Local and no endpoint on this node
	// is ready, so those on it that are terminating and still serving were
	// chosen.
	LocalTerminating Code = "LocalTerminating"
	// NoLocalEndpoint: the traffic policy is Local and the only usable endpoints
	// are on other nodes. The answer is empty.
	NoLocalEndpoint Code = "NoLocalEndpoint"
	// NoEndpoint: there is no usable endpoint anywhere. The answer is empty.
	NoEndpoint Code = "NoEndpoint"
	// NoLocalReady: a policy that prefers this node found no ready endpoint on
	// it. Scope tells how far it went.
	NoLocalReady Code = "NoLocalReady"
	// PlentyLocal: LocalIfPlenty chose the ready endpoints on this node.
	PlentyLocal Code = "PlentyLocal"
	// TooFewEndpoints: LocalIfPlenty left this node, because the service has too
	// few ready endpoints for the number of nodes.
	TooFewEndpoints Code = "TooFewEndpoints"
	// NodesUnknown: LocalIfPlenty left this node, because the number of nodes is
	// not known.
	NodesUnknown Code = "NodesUnknown"
	// SelectorViolation: Enforce replaced an answer that breaks a rule. The text
	// names what was wrong.
	SelectorViolation Code = "SelectorViolation"
	// Unstated: the selector gave no reason of its own, and Enforce says so.
	Unstated Code = "Unstated"
)

// sentences holds one constant sentence for each code, so that a selection
// builds no text. The text of SelectorViolation is made when it is needed.
var sentences = map[Code]string{
	AllReady:         "all ready endpoints share the connections",
	NodeHint:         "every ready endpoint has node hints, and those chosen name this node",
	ZoneHint:         "every ready endpoint has zone hints, and those chosen name this node's zone",
	HintsElsewhere:   "no hint of a ready endpoint names this node or its zone, so all ready endpoints are used",
	HintsIncomplete:  "some ready endpoints lack hints that others have, so hints are ignored and all ready endpoints are used",
	NodeZoneUnknown:  "the zone of this node is not known, so zone hints are ignored and all ready endpoints are used",
	TerminatingOnly:  "no endpoint is ready, so those that are terminating and still serving are used",
	LocalReady:       "ready endpoints on this node are used",
	LocalTerminating: "no endpoint on this node is ready, so those on it that are terminating and still serving are used",
	NoLocalEndpoint:  "the traffic policy is Local, and usable endpoints exist on other nodes only",
	NoEndpoint:       "no endpoint is ready, and none is terminating and still serving",
	NoLocalReady:     "no endpoint on this node is ready, so policy Cluster applies",
	PlentyLocal:      "the service has enough ready endpoints for its cluster, so those on this node are used",
	TooFewEndpoints:  "the service has too few ready endpoints for its cluster, so policy Cluster applies",
	NodesUnknown:     "the number of nodes is not known, so policy Cluster applies",
	Unstated:         "the selector gave no reason",
}

// because returns the reason of a code with its constant sentence.
func because(c Code) Reason { return Reason{Code: c, Text: sentences[c]} }
