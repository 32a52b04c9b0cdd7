package agent

// serviceCIDRsNoticed is where memory keeps what was said of ServiceCIDRs; no
// service has such a name.
const serviceCIDRsNoticed = "ServiceCIDR"

// placeServiceCIDRs tells the tables where ClusterIPs are taken from, so that
// those which no service has are not routed elsewhere (D4). It costs no service.
// The source has told of most that is wrong with a prefix; the table has the
// last word.
func (a *Agent) placeServiceCIDRs(r *Round) {
	prefixes := a.store.ServiceCIDRs()
	var notices []Notice
	for _, f := range a.families {
		for _, p := range f.table.SetServiceCIDRs(prefixes) {
			notices = append(notices, noticeOfServiceCIDR(p))
		}
	}
	r.Notices = append(r.Notices, a.memory.fresh(serviceCIDRsNoticed, notices)...)
}
