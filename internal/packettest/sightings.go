package packettest

// sightings is what came out since a packet was sent.
type sightings struct {
	sent     packet
	sentinel uint32 // its token, 0 if none is under way

	arrived bool
	arrival parsed
	via     Side

	refused bool
	refusal Refusal

	sentinelOut bool
}

// add takes in one packet that came out on a side.
func (s *sightings) add(side Side, p parsed) {
	switch {
	case s.sent.isSeenIn(p):
		if !s.arrived {
			s.arrived, s.arrival, s.via = true, p, side
		}
	case s.sentinel != 0 && p.token == s.sentinel && p.proto == UDP:
		s.sentinelOut = true
	default:
		if r := s.sent.refusedBy(p); r != NotRefused {
			s.refused, s.refusal = true, r
		}
	}
}

// isSeenIn tells whether a packet that came out is the one that was sent.
func (p packet) isSeenIn(q parsed) bool {
	return q.token == p.token && q.proto == p.proto && q.echoed == (p.proto == ICMP && p.stage == stageAnswer)
}

// refusedBy tells whether the sender of a packet takes another one for its
// refusal. A reset must come from the address dialled and acknowledge what was
// sent; an ICMP error must quote the packet as it was sent.
func (p packet) refusedBy(q parsed) Refusal {
	switch {
	case q.reset:
		if q.src == p.dst && q.dst == p.src && (p.stage != stageFirst || q.ack == p.token+1) {
			return Reset
		}
	case q.quoted != nil:
		if q.quoted.src == p.src && q.quoted.dst == p.dst && q.quoted.proto == p.proto {
			if q.portUnreachable {
				return PortUnreachable
			}
			return OtherUnreachable
		}
	}
	return NotRefused
}

// decided tells that no further sighting could change the outcome: a packet
// that has come out was not refused by the rules, whatever the receiver says.
func (s *sightings) decided() bool { return s.arrived || s.refused }

func (s *sightings) outcome() Outcome {
	switch {
	case s.arrived:
		o := Outcome{Kind: Untouched, To: s.arrival.dst, Source: s.arrival.src, Via: s.via}
		if o.To != s.sent.dst {
			o.Kind = Delivered
		}
		o.Masqueraded = o.Source != s.sent.src
		return o
	case s.refused:
		return Outcome{Kind: Refused, Refusal: s.refusal}
	default:
		return Outcome{Kind: Dropped}
	}
}
