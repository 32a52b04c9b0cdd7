package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/nearside/nearside/agent"
)

// received serves the part of an API server that takes events, and returns a
// sender for it and what it takes.
func received(t *testing.T) (*eventSender, chan eventsv1.Event) {
	t.Helper()
	taken := make(chan eventsv1.Event, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var e eventsv1.Event
		if err != nil || r.Method != http.MethodPost || json.Unmarshal(body, &e) != nil ||
			r.URL.Path != "/apis/events.k8s.io/v1/namespaces/"+e.Namespace+"/events" {
			t.Logf("unexpected %s %s, %s: %.100q", r.Method, r.URL.Path, r.Header.Get("Content-Type"), body)
			http.Error(w, "unexpected "+r.URL.Path, http.StatusBadRequest)
			return
		}
		taken <- e
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"}})
	require.NoError(t, err)
	sender, release, err := sendEvents(t.Context(), client, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(release)
	return sender, taken
}

func next(t *testing.T, taken chan eventsv1.Event) eventsv1.Event {
	t.Helper()
	select {
	case e := <-taken:
		return e
	case <-time.After(patienceOfTests):
		t.Fatal("no event arrives")
	}
	return eventsv1.Event{}
}

func TestEventsOfNotices(t *testing.T) {
	sender, taken := received(t)
	sender.starting("node-a")
	e := next(t, taken)
	require.Equal(t, []string{"Normal", "Starting", "StartNearside", "Node", "node-a", "nearside"},
		[]string{e.Type, e.Reason, e.Action, e.Regarding.Kind, e.Regarding.Name, e.ReportingController})

	sender.notice(agent.Notice{Reason: agent.Skipped, Kind: "EndpointSlice", Object: "shop/web-1", Message: "nothing is sent of this"})
	for _, row := range []struct {
		notice               agent.Notice
		reason, action, note string
	}{
		{
			notice: agent.Notice{Reason: agent.UnknownPolicy, Field: "nearside.dev/policy", Value: "Near\x1b%d", Message: "unknown policy"},
			reason: "UnknownPolicy", action: "SelectEndpoints", note: `nearside.dev/policy: "Near\x1b%d": unknown policy`,
		},
		{
			notice: agent.Notice{Reason: agent.Quarantined, Message: "the kernel refused it"},
			reason: "Quarantined", action: "ProgramRules", note: "the kernel refused it",
		},
		{
			notice: agent.Notice{Reason: agent.HealthCheckFailed, Field: "spec.healthCheckNodePort", Message: "port 32000 is taken"},
			reason: "FailedToStartServiceHealthcheck", action: "Listen", note: "port 32000 is taken",
		},
	} {
		row.notice.Kind, row.notice.Object = "Service", "shop/web"
		sender.notice(row.notice)
		e := next(t, taken)
		require.Equal(t, []string{"Warning", row.reason, row.action, row.note, "Service", "shop", "web"},
			[]string{e.Type, e.Reason, e.Action, e.Note, e.Regarding.Kind, e.Regarding.Namespace, e.Regarding.Name})
		require.Equal(t, "shop", e.Namespace)
		require.NotEmpty(t, e.ReportingInstance)
	}
}

func TestEventsAreLimited(t *testing.T) {
	sender, taken := received(t)
	for i := range 50 {
		sender.notice(agent.Notice{Reason: agent.UnknownPolicy, Kind: "Service", Object: fmt.Sprintf("shop/web-%d", i), Message: "unknown policy"})
	}
	for range eventsInABurst {
		next(t, taken)
	}
	select {
	case e := <-taken:
		t.Fatalf("one too many: %v", e)
	case <-time.After(100 * time.Millisecond):
	}
}

func TestNotesFitTheAPI(t *testing.T) {
	require.Equal(t, "short", shortened("short"))
	long := shortened("a" + strings.Repeat("é", 600))
	require.LessOrEqual(t, len(long), longestNote)
	require.True(t, utf8.ValidString(long))
	require.True(t, strings.HasSuffix(long, "é..."))
}
