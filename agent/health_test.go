package agent

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nearside/nearside/nft"
)

func get(t *testing.T, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w
}

func TestHealthEndpoints(t *testing.T) {
	a := newTestAgent(t, Options{}, threeNodes()...)
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	a.now = func() time.Time { return now }
	for path, eligible := range map[string]string{"/healthz": `"nodeEligible":true,`, "/livez": ""} {
		w := get(t, a.HealthHandler(), path)
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, "application/json", w.Header().Get("Content-Type"))
		require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
		require.JSONEq(t, `{"lastUpdated":"2026-05-01T12:00:00Z","currentTime":"2026-05-01T12:00:00Z","healthy":true,`+eligible+`
			"status":{"IPv4":{"lastUpdated":"2026-05-01T12:00:00Z","healthy":true},
			          "IPv6":{"lastUpdated":"2026-05-01T12:00:00Z","healthy":true}}}`, w.Body.String())
	}
	require.Equal(t, http.StatusNotFound, get(t, a.HealthHandler(), "/metrics").Code)
}

// TestANodeThatIsNotEligibleShowsInHealthzOnly: H8.
func TestANodeThatIsNotEligibleShowsInHealthzOnly(t *testing.T) {
	leaving := nodeObject("node-a", "zone-1")
	leaving.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}}
	for name, objects := range map[string][]runtime.Object{
		"the node is not known":           {nodeObject("node-b", "zone-1")},
		"the autoscaler takes it away":    {leaving},
		"another node's taint is no sign": nil,
	} {
		t.Run(name, func(t *testing.T) {
			want := http.StatusServiceUnavailable
			if objects == nil {
				other := nodeObject("node-b", "zone-1")
				other.Spec.Taints = leaving.Spec.Taints
				objects, want = []runtime.Object{nodeObject("node-a", "zone-1"), other}, http.StatusOK
			}
			a := newTestAgent(t, Options{}, objects...)
			w := get(t, a.HealthHandler(), "/healthz")
			require.Equal(t, want, w.Code)
			var body healthBody
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
			require.True(t, body.Healthy, "the agent itself is well")
			require.Equal(t, want == http.StatusOK, *body.NodeEligible)
			require.Equal(t, http.StatusOK, get(t, a.HealthHandler(), "/livez").Code)
		})
	}
}

func TestOneUnhealthyFamilyMakesTheAgentUnhealthy(t *testing.T) {
	a := newTestAgent(t, Options{})
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	a.now = func() time.Time { return now }
	a.changesWait(now)
	a.feel(FamilyRound{Family: nft.IPv4, End: now})
	a.feel(FamilyRound{Family: nft.IPv6, End: now})
	now = now.Add(time.Minute)
	a.changesWait(now)
	a.feel(FamilyRound{Family: nft.IPv4, End: now})
	a.feel(FamilyRound{Family: nft.IPv6, End: now, Err: nft.ErrPermission})
	a.feel(FamilyRound{Family: nft.IPv6, End: now, Deferred: true})
	now = now.Add(61 * time.Second)
	w := get(t, a.HealthHandler(), "/healthz")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	var body healthBody
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
	require.False(t, body.Healthy)
	require.True(t, body.Status["IPv4"].Healthy)
	require.False(t, body.Status["IPv6"].Healthy)
	require.Equal(t, "2026-05-01T12:00:00Z", body.LastUpdated.Format(time.RFC3339), "the last good state is that old")
	require.Equal(t, body.CurrentTime, body.Status["IPv4"].LastUpdated)
}
