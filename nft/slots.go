package nft

// MaxSlots is the largest number of slots of one frontend: its backends'
// weights may not add up to more.
const MaxSlots = 65535

// settle places the wanted slots so that as few as possible of the present
// ones change: a slot whose endpoint is still wanted stays where it is, and
// holes are filled from the end, so that slots always run from 0 without gaps.
// Where nothing was present the result is the wanted order itself. The order
// of slots has no meaning to clients, who are sent to a random one.
func settle(present, wanted []slot) []slot {
	if len(present) == 0 || equalSlots(present, wanted) {
		return wanted
	}
	missing := make(map[slotTarget]need, len(wanted))
	for _, s := range wanted {
		n := missing[s.target()]
		missing[s.target()] = need{count: n.count + 1, slot: s}
	}
	placed := make([]slot, len(wanted))
	kept := make([]bool, len(wanted))
	for i, s := range present[:min(len(present), len(wanted))] {
		if n := missing[s.target()]; n.count > 0 {
			missing[s.target()] = need{count: n.count - 1, slot: n.slot}
			placed[i], kept[i] = n.slot, true
		}
	}
	next := 0
	for _, s := range wanted {
		n := missing[s.target()]
		if n.count == 0 {
			continue
		}
		missing[s.target()] = need{count: n.count - 1, slot: n.slot}
		for kept[next] {
			next++
		}
		placed[next], kept[next] = s, true
	}
	return placed
}

// need is a wanted slot and how many of it are not placed yet.
type need struct {
	count int
	slot  slot
}

// slotTarget is the part of a slot that the kernel sees.
type slotTarget struct {
	ip   [16]byte
	port uint16
}

func (s slot) target() slotTarget { return slotTarget{s.ip, s.port} }

func equalSlots(a, b []slot) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
