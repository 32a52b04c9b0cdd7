package agent

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/nearside/nearside/nft"
)

// Health is the state of an agent at one time.
type Health struct {
	// Healthy is false while a change of any family has been waiting for a
	// successful round longer than Options.HealthTimeout. An agent that has
	// nothing to do, or has not started, is healthy; so kube-proxy counts too.
	Healthy bool
	// LastUpdated is the time of the oldest family's last good state: now when
	// healthy.
	LastUpdated time.Time
	// CurrentTime is the time of this report.
	CurrentTime time.Time
	// NodeEligible is false while the Node object is not known, or says that the
	// node is leaving: load balancers should then send nothing new (KEP-3836).
	NodeEligible bool
	// Families holds one report for each family that is served.
	Families map[nft.Family]FamilyHealth
}

// FamilyHealth is the state of one IP family.
type FamilyHealth struct {
	// Healthy is as in Health, for this family.
	Healthy bool
	// LastUpdated is when the table last matched what was known: now when
	// healthy.
	LastUpdated time.Time
	// LastSync is the end of the last successful round, zero before the first.
	LastSync time.Time
	// Err is the error of the last round, nil when it succeeded. It shows at
	// once, while Healthy allows for a few attempts.
	Err error
	// Quarantined is the number of services that the kernel refuses.
	Quarantined int
}

// pulse is what health is computed from. The agent keeps one per family.
type pulse struct {
	waitingSince time.Time // since when a change waits, zero when none does
	lastSync     time.Time
	err          error
	quarantined  int
}

// Health reports the agent's state. It may be called at any time from any
// goroutine.
func (a *Agent) Health() Health {
	node := a.store.Node()
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	h := Health{
		Healthy: true, LastUpdated: now, CurrentTime: now, NodeEligible: node.Known && !node.Leaving,
		Families: make(map[nft.Family]FamilyHealth),
	}
	for f, p := range a.pulses {
		fh := p.health(now, a.opts.HealthTimeout)
		h.Families[f] = fh
		h.Healthy = h.Healthy && fh.Healthy
		if fh.LastUpdated.Before(h.LastUpdated) {
			h.LastUpdated = fh.LastUpdated
		}
	}
	return h
}

func (p *pulse) health(now time.Time, timeout time.Duration) FamilyHealth {
	h := FamilyHealth{Healthy: true, LastUpdated: now, LastSync: p.lastSync, Err: p.err, Quarantined: p.quarantined}
	if !p.waitingSince.IsZero() && now.Sub(p.waitingSince) > timeout {
		h.Healthy, h.LastUpdated = false, p.lastSync
		if h.LastUpdated.IsZero() {
			h.LastUpdated = p.waitingSince
		}
	}
	return h
}

// changesWait notes that all families have a change to make.
func (a *Agent) changesWait(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for f, p := range a.pulses {
		a.metrics.proxy.queued(f, now)
		if p.waitingSince.IsZero() {
			p.waitingSince = now
		}
	}
}

// feel takes over the outcome of a round.
func (a *Agent) feel(r FamilyRound) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.pulses[r.Family]
	p.quarantined = r.Quarantined
	if r.Deferred {
		return
	}
	p.err = r.Err
	if r.Err == nil {
		p.waitingSince, p.lastSync = time.Time{}, r.End
	}
}

// healthBody is the answer of /healthz and /livez, field by field that of
// kube-proxy.
type healthBody struct {
	LastUpdated time.Time `json:"lastUpdated"`
	CurrentTime time.Time `json:"currentTime"`
	Healthy     bool      `json:"healthy"`
	// NodeEligible is told by /healthz only.
	NodeEligible *bool                       `json:"nodeEligible,omitempty"`
	Status       map[string]familyHealthBody `json:"status"`
}

type familyHealthBody struct {
	LastUpdated time.Time `json:"lastUpdated"`
	Healthy     bool      `json:"healthy"`
}

// HealthHandler serves /healthz and /livez: status 200 while the agent is
// healthy and 503 otherwise, with a JSON body that says since when. /healthz,
// which load balancers ask, is 503 for a node that is not eligible too; /livez
// is for whoever restarts an agent that hangs. It may be used before, during and
// after Run.
func (a *Agent) HealthHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { a.serveHealth(w, true) })
	mux.HandleFunc("/livez", func(w http.ResponseWriter, _ *http.Request) { a.serveHealth(w, false) })
	return mux
}

func (a *Agent) serveHealth(w http.ResponseWriter, eligibility bool) {
	h := a.Health()
	body := healthBody{
		LastUpdated: h.LastUpdated.UTC(), CurrentTime: h.CurrentTime.UTC(), Healthy: h.Healthy,
		Status: make(map[string]familyHealthBody, len(h.Families)),
	}
	for f, fh := range h.Families {
		body.Status[familyLabel(f)] = familyHealthBody{LastUpdated: fh.LastUpdated.UTC(), Healthy: fh.Healthy}
	}
	if eligibility {
		body.NodeEligible = &h.NodeEligible
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	status := http.StatusOK
	if !h.Healthy || eligibility && !h.NodeEligible {
		status = http.StatusServiceUnavailable
	}
	a.metrics.proxy.answered(eligibility, status)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
