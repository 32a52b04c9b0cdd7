package health

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"strconv"
)

// WeightHeader is the header in which the answer gives the number of local
// endpoints (KEP-3836).
const WeightHeader = "X-Load-Balancing-Endpoint-Weight"

// body is the answer in the form of kube-proxy.
type body struct {
	Service        serviceBody `json:"service"`
	LocalEndpoints int         `json:"localEndpoints"`
	ProxyHealthy   bool        `json:"serviceProxyHealthy"`
}

type serviceBody struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// handler answers for a Service on an address, to any path and any method. A
// Service that has gone meanwhile has no endpoints: a request that overlaps with
// the end of its port gets a whole answer all the same.
func (s *Server) handler(name Name, at netip.Addr) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		count, healthy := s.localEndpoints(name, at), s.opts.Healthy()
		status := http.StatusServiceUnavailable
		if count > 0 && healthy {
			status = http.StatusOK
		}
		text, err := json.Marshal(body{Service: serviceBody(name), LocalEndpoints: count, ProxyHealthy: healthy})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set(WeightHeader, strconv.Itoa(count))
		w.WriteHeader(status)
		_, _ = w.Write(append(text, '\n'))
	})
}

// localEndpoints returns the count of a Service in the family of an address.
func (s *Server) localEndpoints(name Name, at netip.Addr) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	spec := s.specs[name]
	return spec.family(at).LocalEndpoints
}
