package nft

import "encoding/binary"

// Adopt takes over the slots of a table read from the kernel, so that services
// set from now on keep theirs and a restart moves no endpoint. Call it before
// the first Set.
func (t *Table) Adopt(kernel *Ruleset) {
	if kernel == nil || kernel.Family != t.cfg.Family {
		return
	}
	if s := kernel.sets()[setBackends]; s != nil && s.decl.key == t.layout.sets[backendsSet].decl.key {
		t.adopted = slotsOf(t.cfg.Family, &s.records)
	}
}

// slotsOf sorts the elements of the backends map into the slots of each
// frontend. Slots behind a gap cannot be reached and are left out.
func slotsOf(f Family, recs *records) map[frontendKey]pools {
	const numberLen = 4
	numbered := map[frontendKey]map[uint32]slot{}
	for i := range recs.count() {
		key, data := recs.key(i), recs.data(i)
		number := binary.NativeEndian.Uint32(key[len(key)-numberLen:])
		k := dialledKey(f, key)
		if numbered[k] == nil {
			numbered[k] = map[uint32]slot{}
		}
		s := slot{port: binary.BigEndian.Uint16(data[f.addrLen():])}
		copy(s.ip[:], data[:f.addrLen()])
		numbered[k][number] = s
	}
	found := make(map[frontendKey]pools, len(numbered))
	for k, byNumber := range numbered {
		var p pools
		for i, first := range firstSlots {
			for n := first; ; n++ {
				s, ok := byNumber[n]
				if !ok {
					break
				}
				p[i] = append(p[i], s)
			}
		}
		found[k] = p
	}
	return found
}
