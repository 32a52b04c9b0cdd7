package informer

import (
	"net/netip"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
)

// serviceCIDR is the record of a ServiceCIDR: its prefixes, as reduce leaves
// them.
type serviceCIDR []netip.Prefix

// convertServiceCIDR reads the prefixes of a ServiceCIDR. One that is being
// deleted counts until it is gone, since Services may still have addresses in it.
func convertServiceCIDR(object *networkingv1.ServiceCIDR) change {
	f := findings{kind: kindServiceCIDR.String(), object: objectText("", object.Name)}
	var record serviceCIDR
	for _, text := range object.Spec.CIDRs {
		p, reason := parsePrefix(text)
		if reason == "" && p.Bits() == 0 {
			reason = "holds every address"
		}
		if reason != "" {
			f.add("spec.cidrs", text, reason+"; it is left out")
			continue
		}
		record = append(record, p)
	}
	c := change{key: key{kindServiceCIDR, Name{Name: object.Name}}, problems: f.list}
	if len(record) > 0 {
		c.record = reduce(record)
	}
	return c
}

// reduce sorts prefixes and drops those that lie within another one, so that
// no address is in two. It reuses the memory of list.
func reduce(list serviceCIDR) serviceCIDR {
	slices.SortFunc(list, netip.Prefix.Compare)
	out := list[:0]
	for _, p := range list {
		// Prefixes never overlap in part, and in this order the widest of those
		// that begin at one address is first.
		if len(out) > 0 && out[len(out)-1].Contains(p.Addr()) {
			continue
		}
		out = append(out, p)
	}
	return slices.Clip(out)
}

// ServiceCIDRs returns the prefixes that addresses of Services are taken from:
// the union of all ServiceCIDR objects, sorted, without those that lie within
// another one. None means that they are not known. The result is read-only and
// stays valid after the next change.
func (s *Store) ServiceCIDRs() []netip.Prefix {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cidrs
}

// applyServiceCIDR takes over one object; a nil record means it is gone.
func (s *Store) applyServiceCIDR(name string, record serviceCIDR) {
	if slices.Equal(s.serviceCIDRs[name], record) {
		return
	}
	if record == nil {
		delete(s.serviceCIDRs, name)
	} else {
		s.serviceCIDRs[name] = record
	}
	var all serviceCIDR
	for _, one := range s.serviceCIDRs {
		all = append(all, one...)
	}
	s.cidrs = reduce(all)
}
