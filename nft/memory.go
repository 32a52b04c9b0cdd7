package nft

import (
	"maps"
	"slices"
	"strings"
)

// A memory is what sticky frontends know of their clients: a map from clients
// to endpoints that the kernel fills, and the set of endpoints that may be in
// it. There is one for each pool that a group of frontends has, because a
// client must never be sent to an endpoint that the frontend it dials would not
// pick; what one learns goes into all of them that have the endpoint.

const (
	clientsPrefix = "clients-"
	membersPrefix = "members-"
)

// clientsSize bounds the clients of one memory; those beyond are not
// remembered. It is what the kernel takes where nothing is said.
const clientsSize = 65535

// memory counts what needs a memory and its members.
type memory struct {
	needed  int32
	members map[slotTarget]int32
}

// member is an endpoint of a memory.
type member struct {
	memory string
	target slotTarget
}

// clientsDecl declares a map from clients to endpoints.
func clientsDecl(f Family) setDecl {
	addr := addrFields(f)
	return setDecl{
		key: addr, data: addr + string(fieldService), dynamic: true,
		typeLine: "type " + addrType(f) + " : " + addrType(f) + " . inet_service",
		userData: tlvUint32(udataKeyByteOrder, byteOrderBig) + tlvUint32(udataDataByteOrder, byteOrderMixed) +
			tlv(udataDataTypeof, typeofConcat()) + tlvUint32(udataDataInterval, 0),
	}
}

// membersDecl declares a set of endpoints.
func membersDecl(f Family) setDecl {
	return setDecl{
		key:      addrFields(f) + string(fieldService),
		typeLine: "type " + addrType(f) + " . inet_service",
		userData: tlvUint32(udataKeyByteOrder, byteOrderMixed) + tlv(udataKeyTypeof, typeofConcat()),
	}
}

// memorySets returns the two sets of a memory, empty.
func memorySets(f Family, name string) (clients, members *Set) {
	clients = &Set{Name: clientsPrefix + name, decl: clientsDecl(f)}
	members = &Set{Name: membersPrefix + name, decl: membersDecl(f)}
	clients.records, members.records = newRecords(&clients.decl), newRecords(&members.decl)
	return clients, members
}

// memoryOf returns the name of the memory that a set belongs to.
func memoryOf(set string) (name string, ok bool) {
	if name, ok = strings.CutPrefix(set, clientsPrefix); ok {
		return name, true
	}
	return strings.CutPrefix(set, membersPrefix)
}

// shareMemories counts what a frontend needs of memories.
func (t *Table) shareMemories(f frontend, by int32) {
	for _, name := range f.shape.memories() {
		m := t.memories[name]
		if m == nil {
			m = &memory{members: map[slotTarget]int32{}}
			t.memories[name] = m
		}
		if _, noted := t.journal.memories[name]; !noted {
			t.journal.memories[name] = m.needed > 0
		}
		m.needed += by
	}
	for i, p := range []program{f.shape.pick, f.shape.pickOutside} {
		if p.kind != programSticky {
			continue
		}
		m := t.memories[p.memory]
		for _, s := range f.pools[i] {
			key := member{memory: p.memory, target: s.target()}
			if _, noted := t.journal.members[key]; !noted {
				t.journal.members[key] = m.members[s.target()] > 0
			}
			if m.members[s.target()] += by; m.members[s.target()] == 0 {
				delete(m.members, s.target())
			}
		}
	}
	for _, name := range f.shape.memories() {
		if m := t.memories[name]; m != nil && m.needed == 0 {
			delete(t.memories, name)
		}
	}
}

// has reports whether a memory has an endpoint.
func (t *Table) has(m member) bool {
	mem := t.memories[m.memory]
	return mem != nil && mem.members[m.target] > 0
}

// memorySet returns the set of a memory's members.
func (t *Table) memorySet(name string) *Set {
	_, members := memorySets(t.cfg.Family, name)
	for target := range t.memories[name].members {
		putTarget(t.cfg.Family, members.records.extend(), target)
	}
	members.records = members.records.sorted()
	return members
}

// changedMemories adds what is different about memories: new ones before any
// chain that uses them, members as elements, forgotten clients, and old ones
// when no chain uses them any more.
func (t *Table) changedMemories() (added, members, removed []operation) {
	if len(t.journal.memories) == 0 && len(t.journal.members) == 0 {
		return nil, nil, nil
	}
	f := t.cfg.Family
	for _, name := range slices.Sorted(maps.Keys(t.journal.memories)) {
		was, is := t.journal.memories[name], t.memories[name] != nil
		clientsSet, membersSet := memorySets(f, name)
		switch {
		case is && !was:
			added = append(added, operation{kind: opAddSet, set: clientsSet}, operation{kind: opAddSet, set: membersSet})
		case was && !is:
			removed = append(removed, operation{kind: opDeleteSet, set: clientsSet}, operation{kind: opDeleteSet, set: membersSet})
		}
	}
	byMemory := map[string][]member{}
	for m := range t.journal.members {
		byMemory[m.memory] = append(byMemory[m.memory], m)
	}
	for _, name := range slices.Sorted(maps.Keys(byMemory)) {
		if t.memories[name] != nil {
			members = append(members, t.changedMembers(name, byMemory[name])...)
		}
	}
	return added, members, removed
}

func (t *Table) changedMembers(name string, touched []member) (ops []operation) {
	f := t.cfg.Family
	clientsSet, membersSet := memorySets(f, name)
	del, add := newRecords(&membersSet.decl), newRecords(&membersSet.decl)
	for _, m := range touched {
		switch was, is := t.journal.members[m], t.has(m); {
		case was && !is:
			putTarget(f, del.extend(), m.target)
		case is && !was:
			putTarget(f, add.extend(), m.target)
		}
	}
	if del.count() > 0 {
		ops = append(ops,
			operation{kind: opDeleteElements, set: membersSet, elems: del.sorted()},
			operation{kind: opForget, set: clientsSet, elems: t.memorySet(name).records})
	}
	if add.count() > 0 {
		ops = append(ops, operation{kind: opAddElements, set: membersSet, elems: add.sorted()})
	}
	return ops
}

// putTarget writes an endpoint as a member of a memory.
func putTarget(f Family, rec []byte, target slotTarget) {
	n := copy(rec, target.ip[:f.addrLen()])
	rec[n], rec[n+1] = byte(target.port>>8), byte(target.port)
}
