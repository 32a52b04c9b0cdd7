package nft

// The names of the table's sets and fixed chains. None of them is API.
const (
	setBackends   = "backends"
	setFrontends  = "frontends"
	setClusterIPs = "cluster-ips"
	setHairpin    = "hairpin"

	chainRefuse      = "refuse"
	chainSourceNAT   = "source-nat"
	chainPrerouting  = "prerouting"
	chainOutput      = "output"
	chainPostrouting = "postrouting"
)

// Indexes into layout.sets.
const (
	backendsSet = iota
	frontendsSet
	clusterIPsSet
	hairpinSet
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
	addr, addrType, header, saddr, daddr := string(fieldIPv4), "ipv4_addr", uint32(headerIPv4), uint32(11), uint32(12)
	if f == IPv6 {
		addr, addrType, header, saddr, daddr = string(fieldIPv6), "ipv6_addr", headerIPv6, 8, 9
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

	sets := [setCount]*Set{
		backendsSet: {Name: setBackends, decl: setDecl{
			key:      addr + string(fieldProto) + string(fieldService) + string(fieldInteger),
			data:     addr + string(fieldService),
			typeLine: "typeof " + dialledText(f) + " . numgen random mod 2 : " + f.String() + " daddr . th dport",
			userData: mixed + tlvUint32(udataDataByteOrder, byteOrderMixed) +
				tlv(udataKeyTypeof, typeofConcat(append(dialled, slotNumber)...)) + tlv(udataDataTypeof, target) + mapTail,
		}},
		frontendsSet: {Name: setFrontends, decl: setDecl{
			key:      addr + string(fieldProto) + string(fieldService),
			verdicts: true,
			// nft 1.0 has no typeof for a map to verdicts, but stores an empty one.
			typeLine: "type " + addrType + " . inet_proto . inet_service : verdict",
			userData: mixed + tlvUint32(udataDataByteOrder, byteOrderMixed) + tlv(udataKeyTypeof, typeofConcat()) + mapTail,
		}},
		clusterIPsSet: {Name: setClusterIPs, decl: setDecl{
			key:      addr,
			typeLine: "type " + addrType,
			userData: tlvUint32(udataKeyByteOrder, byteOrderBig),
		}},
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
	sourceNAT := []Rule{makeRule(matchHairpin(f, setHairpin), masquerade())}
	switch {
	case cfg.MasqueradeAll:
		sourceNAT = append(sourceNAT, makeRule(matchDialledAddr(f, setClusterIPs), masquerade()))
	case cfg.ClusterCIDR.IsValid() && cfg.ClusterCIDR.Bits() > 0: // from a /0 nothing is outside
		sourceNAT = append(sourceNAT, makeRule(matchSourceNotIn(f, cfg.ClusterCIDR), matchDialledAddr(f, setClusterIPs), masquerade()))
	}
	dispatch := []Rule{makeRule(vmapDialled(f, setFrontends))}
	return []*Chain{
		{Name: chainRefuse, Rules: []Rule{makeRule(rejectTCP()), makeRule(rejectICMP(f))}},
		{Name: chainSourceNAT, Rules: sourceNAT},
		{Name: chainPrerouting, Base: &BaseChain{Hook: hookPrerouting, Priority: -100}, Rules: dispatch},
		{Name: chainOutput, Base: &BaseChain{Hook: hookOutput, Priority: -100}, Rules: dispatch},
		{Name: chainPostrouting, Base: &BaseChain{Hook: hookPostrouting, Priority: 100}, Rules: []Rule{
			makeRule(matchTranslated(), gotoChain(chainSourceNAT)),
		}},
	}
}
