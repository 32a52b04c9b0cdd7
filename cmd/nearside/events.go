package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"unicode/utf8"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"

	"github.com/nearside/nearside/agent"
)

const (
	// eventsPerSecond and eventsInABurst bound what one agent sends: all agents of
	// a cluster see the same mistake at the same time.
	eventsPerSecond = 0.1
	eventsInABurst  = 10
	// longestNote is what the API takes, in bytes (events.k8s.io/v1).
	longestNote = 1024
)

// eventSender makes Kubernetes Events of what the agent tells about Services.
type eventSender struct {
	recorder events.EventRecorder
	limit    flowcontrol.PassiveRateLimiter
}

// sendEvents returns a sender that works until ctx ends, and how to release it.
func sendEvents(ctx context.Context, client kubernetes.Interface, log *slog.Logger) (*eventSender, func(), error) {
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	ctx = klog.NewContext(ctx, logr.FromSlogHandler(log.Handler()))
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		broadcaster.Shutdown()
		return nil, nil, fmt.Errorf("start to send events: %w", err)
	}
	return &eventSender{
		recorder: broadcaster.NewRecorder(scheme.Scheme, "nearside"),
		limit:    flowcontrol.NewTokenBucketPassiveRateLimiter(eventsPerSecond, eventsInABurst),
	}, broadcaster.Shutdown, nil
}

// starting tells that the agent starts on a node.
func (s *eventSender) starting(node string) {
	s.recorder.Eventf(&corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node}, nil,
		corev1.EventTypeNormal, "Starting", "StartNearside", "%s", "")
}

// notice tells of a Service that is not served as it asks for. Nothing is sent
// of what the API server itself should have refused: no object of a cluster is
// like that, and those of a broken one are in the log.
func (s *eventSender) notice(n agent.Notice) {
	reason, action := string(n.Reason), ""
	switch n.Reason {
	case agent.UnknownPolicy:
		action = "SelectEndpoints"
	case agent.Quarantined:
		action = "ProgramRules"
	case agent.HealthCheckFailed:
		reason, action = "FailedToStartServiceHealthcheck", "Listen" // as in kube-proxy
	case agent.Skipped, agent.UnrestrictedFamily:
	}
	namespace, name, ok := strings.Cut(n.Object, "/")
	if action == "" || !ok || n.Kind != "Service" || !s.limit.TryAccept() {
		return
	}
	note := n.Message
	if n.Value != "" {
		note = fmt.Sprintf("%s: %q: %s", n.Field, n.Value, n.Message)
	}
	s.recorder.Eventf(&corev1.ObjectReference{APIVersion: "v1", Kind: "Service", Namespace: namespace, Name: name}, nil,
		corev1.EventTypeWarning, reason, action, "%s", shortened(note))
}

// shortened cuts a note to what the API takes, between two characters.
func shortened(note string) string {
	if len(note) <= longestNote {
		return note
	}
	const dots = "..."
	end := longestNote - len(dots)
	for end > 0 && !utf8.RuneStart(note[end]) {
		end--
	}
	return note[:end] + dots
}
