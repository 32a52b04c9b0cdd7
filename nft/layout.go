package nft

import "net/netip"

// The names of the table's sets and fixed chains. None of them is API.
const (
	setBackends   = "backends"
	setFrontends  = "frontends"
	setAllowed    = "allowed"
	setInside     = "inside"
	setOutside    = "outside"
	setTranslated = "translated"
	setClusterIPs = "cluster-ips"
	setNodeIPs    = "node-ips"
	setHairpin    = "hairpin"

	chainServices          = "services"
	chainBySource          = "by-source"
	chainAllowed           = "allowed"
	chainRefuse            = "refuse"
	chainSourceNAT         = "source-nat"
	chainMasquerade        = "masquerade-all"
	chainMasqueradeNode    = "masquerade-node"
	chainMasqueradeCluster = "masquerade-cluster"
	chainPrerouting        = "prerouting"
	chainOutput            = "output"
	chainPostrouting       = "postrouting"
)

// Indexes into layout.sets. The maps of verdicts that are keyed by what is
// dialled come in the order in which a connection meets them.
const (
	backendsSet   = iota
	frontendsSet  // every frontend: where it leads
	allowedSet    // with Sources: where it leads those who may connect
	insideSet     // with Outside: where it leads pods and the node itself
	outsideSet    // with Outside: where it leads everyone else
	translatedSet // what follows translation: masquerade, learning a client
	clusterIPsSet // addresses of Kind ClusterIP
	nodeIPsSet    // addresses that node ports are served on
	hairpinSet    // (endpoint, endpoint) for endpoints on this node
	setCount
)

// layout holds what a table consists of before any service: the sets, empty,
// and the fixed chains with their rules. It depends on Config alone, so two
// tables of one Config differ in nothing but programs and elements.
type layout struct {
	sets   [setCount]*Set
	chains []*Chain
}

func newLayout(cfg Config) layout {
	return layout{sets: layoutSets(cfg.Family), chains: layoutChains(cfg)}
}

func layoutSets(f Family) [setCount]*Set {
	addr, header, saddr, daddr := addrFields(f), uint32(headerIPv4), uint32(11), uint32(12)
	if f == IPv6 {
		header, saddr, daddr = headerIPv6, 8, 9
	}
	const portField = 2 // th dport
	const l4proto = 16  // meta l4proto
	dialled := []string{
		typeofExpr(exprPayload, header, daddr),
		typeofExpr(exprMeta, l4proto),
		typeofExpr(exprPayload, headerTransport, portField),
	}
	target := typeofConcat(dialled[0], dialled[2])
	slotNumber := typeofExpr(exprNumgen, 1, 2, 0) // random mod 2: any modulus stands for the type
	mixed := tlvUint32(udataKeyByteOrder, byteOrderMixed)
	mapTail := tlvUint32(udataDataInterval, 0)

	verdicts := setDecl{
		key:      addr + string(fieldProto) + string(fieldService),
		verdicts: true,
		// nft 1.0 has no typeof for a map to verdicts, but stores an empty one.
		typeLine: "type " + addrType(f) + " . inet_proto . inet_service : verdict",
		userData: mixed + tlvUint32(udataDataByteOrder, byteOrderMixed) + tlv(udataKeyTypeof, typeofConcat()) + mapTail,
	}
	addresses := setDecl{
		key:      addr,
		typeLine: "type " + addrType(f),
		userData: tlvUint32(udataKeyByteOrder, byteOrderBig),
	}
	sets := [setCount]*Set{
		backendsSet: {Name: setBackends, decl: setDecl{
			key:      addr + string(fieldProto) + string(fieldService) + string(fieldInteger),
			data:     addr + string(fieldService),
			typeLine: "typeof " + dialledText(f, false) + " . numgen random mod 2 : " + f.String() + " daddr . th dport",
			userData: mixed + tlvUint32(udataDataByteOrder, byteOrderMixed) +
				tlv(udataKeyTypeof, typeofConcat(append(dialled, slotNumber)...)) + tlv(udataDataTypeof, target) + mapTail,
		}},
		frontendsSet:  {Name: setFrontends, decl: verdicts},
		allowedSet:    {Name: setAllowed, decl: verdicts},
		insideSet:     {Name: setInside, decl: verdicts},
		outsideSet:    {Name: setOutside, decl: verdicts},
		translatedSet: {Name: setTranslated, decl: verdicts},
		clusterIPsSet: {Name: setClusterIPs, decl: addresses},
		nodeIPsSet:    {Name: setNodeIPs, decl: addresses},
		hairpinSet: {Name: setHairpin, decl: setDecl{
			key:      addr + addr,
			typeLine: "typeof " + f.String() + " saddr . " + f.String() + " daddr",
			userData: mixed + tlv(udataKeyTypeof, typeofConcat(typeofExpr(exprPayload, header, saddr), dialled[0])),
		}},
	}
	for _, s := range sets {
		s.records = newRecords(&s.decl)
	}
	return sets
}

func layoutChains(cfg Config) []*Chain {
	f := cfg.Family
	toServices := []Rule{makeRule(gotoChain(chainServices))}
	return []*Chain{
		{Name: chainRefuse, Rules: []Rule{makeRule(rejectTCP()), makeRule(rejectICMP(f))}},
		allowedChain(f, false),
		allowedChain(f, true),
		bySourceChain(cfg, false),
		bySourceChain(cfg, true),
		{Name: chainMasquerade, Rules: []Rule{makeRule(masquerade())}},
		{Name: chainMasqueradeNode, Rules: []Rule{
			makeRule(matchFromHere(), masquerade()),
			makeRule(matchHairpin(f, setHairpin), masquerade()),
		}},
		masqueradeClusterChain(cfg),
		sourceNATChain(f),
		{Name: chainPrerouting, Base: &BaseChain{Hook: hookPrerouting, Priority: -100}, Rules: toServices},
		{Name: chainOutput, Base: &BaseChain{Hook: hookOutput, Priority: -100}, Rules: toServices},
		{Name: chainPostrouting, Base: &BaseChain{Hook: hookPostrouting, Priority: 100}, Rules: []Rule{
			makeRule(matchTranslated(), gotoChain(chainSourceNAT)),
		}},
	}
}

// servicesChain is where every new connection comes through.
func servicesChain(f Family, serviceCIDRs []netip.Prefix) *Chain {
	c := &Chain{Name: chainServices, Rules: []Rule{
		// The unspecified address is the key of node ports, which are served on
		// the node's addresses only, and never a destination.
		makeRule(matchDestinationNot(f, f.unspecified()), vmapDialled(f, false, setFrontends)),
		makeRule(matchDestinationIn(f, setNodeIPs), vmapDialled(f, true, setFrontends)),
		// Once more before it is refused: while a commit replaces an element,
		// kernels before 6.17 may find neither the old one nor the new one.
		makeRule(matchDestinationIn(f, setClusterIPs), vmapDialled(f, false, setFrontends)),
		makeRule(matchDestinationIn(f, setClusterIPs), gotoChain(chainRefuse)),
	}}
	for _, p := range serviceCIDRs {
		c.Rules = append(c.Rules, makeRule(matchDestination(f, p), drop()))
	}
	return c
}

// allowedChain leads clients on that may connect. It is one for all lists of
// sources: the kernel looks through a map once for each rule that uses it.
func allowedChain(f Family, node bool) *Chain {
	return &Chain{Name: program{kind: programAllowed, node: node}.chainName(), Rules: []Rule{
		makeRule(vmapDialled(f, node, setAllowed)),
		makeRule(drop()),
	}}
}

// bySourceChain tells clients outside from pods and this node. Pods come first:
// an address of theirs is never one of the node's, and they are many.
func bySourceChain(cfg Config, node bool) *Chain {
	f := cfg.Family
	c := &Chain{Name: program{kind: programBySource, node: node}.chainName()}
	if pod, ok := cfg.matchPod(true); ok {
		c.Rules = append(c.Rules, makeRule(append(pod, vmapDialled(f, node, setInside))...))
	}
	c.Rules = append(c.Rules,
		makeRule(matchFromHere(), vmapDialled(f, node, setInside)),
		makeRule(vmapDialled(f, node, setOutside)),
		// A commit may have made one pool of two meanwhile; see pickRules.
		makeRule(dnatToRandomSlot(f, node, setBackends, 1, 0)),
		makeRule(drop()),
	)
	return c
}

// sourceNATChain is where translated connections come through. Nothing is
// marked on the way in: conntrack still knows what was dialled.
func sourceNATChain(f Family) *Chain {
	c := &Chain{Name: chainSourceNAT}
	for _, p := range []Protocol{TCP, UDP, SCTP} {
		c.Rules = append(c.Rules,
			makeRule(vmapOriginal(f, false, p, setTranslated)),
			makeRule(vmapOriginal(f, true, p, setTranslated)))
	}
	c.Rules = append(c.Rules, makeRule(gotoChain(chainMasqueradeCluster)))
	return c
}

// masqueradeClusterChain decides which connections to ClusterIPs get a source
// address of this node: those from outside the cluster, as far as that can be
// told, and those that come back to the endpoint they started from.
func masqueradeClusterChain(cfg Config) *Chain {
	f := cfg.Family
	c := &Chain{Name: chainMasqueradeCluster, Rules: []Rule{makeRule(matchHairpin(f, setHairpin), masquerade())}}
	if cfg.MasqueradeAll {
		c.Rules = append(c.Rules, makeRule(matchDialledAddr(f, setClusterIPs), masquerade()))
	} else if other, ok := cfg.matchPod(false); ok {
		c.Rules = append(c.Rules, makeRule(append(other, matchDialledAddr(f, setClusterIPs), masquerade())...))
	}
	return c
}

// matchPod matches packets from pods, or from all others. It reports false
// where no packet can match: pods cannot be told from others, or all are pods.
func (c Config) matchPod(in bool) (match []statement, ok bool) {
	switch {
	case c.PodInterface != "":
		return []statement{matchInterface(c.PodInterface, in)}, true
	case c.PodInterfacePrefix != "":
		return []statement{matchInterfacePrefix(c.PodInterfacePrefix, in)}, true
	case !c.ClusterCIDR.IsValid():
		return nil, false
	case c.ClusterCIDR.Bits() == 0:
		return nil, in
	}
	return []statement{matchSource(c.Family, c.ClusterCIDR, in)}, true
}
