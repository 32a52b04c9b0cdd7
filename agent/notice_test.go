package agent

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestUnquote(t *testing.T) {
	for quoted, want := range map[string]string{
		`"10.0.0.300"`: "10.0.0.300",
		`"a\nb"`:       "a\nb",
		`"long"...`:    "long...",
		`not quoted`:   "not quoted",
		``:             "",
	} {
		require.Equal(t, want, unquote(quoted))
	}
}

// badObject is a cluster with one bad object, and what is expected of it.
type badObject struct {
	objects []runtime.Object
	want    Notice // compared without Message
	message string
	// service and backends are what is left of the object in the table.
	service  string
	backends int
}

func badObjects() map[string]badObject {
	longName := strings.Repeat("n", 253)
	return map[string]badObject{
		"an impossible address costs one endpoint": {
			objects: []runtime.Object{serviceObject("bad", "10.96.1.1"), sliceObject("bad", "10.0.0.300@node-a", "10.0.0.5@node-a")},
			want:    Notice{Reason: Skipped, Kind: "EndpointSlice", Object: "shop/bad-4", Value: "10.0.0.300"},
			service: "10.96.1.1", backends: 1,
		},
		"an endpoint of the wrong family costs itself": {
			objects: []runtime.Object{serviceObject("bad", "10.96.1.1"), wrongFamily(sliceObject("bad", "10.0.0.5@node-a"))},
			want:    Notice{Reason: Skipped, Kind: "EndpointSlice", Object: "shop/bad-4", Value: "fd00::5"},
			service: "10.96.1.1", backends: 1,
		},
		"a duplicate frontend goes to the older service": {
			objects: []runtime.Object{serviceObject("bad", "10.96.0.1"), sliceObject("bad", "10.0.0.5@node-a")},
			want:    Notice{Reason: Skipped, Kind: "Service", Object: "shop/bad", Field: "port http", Value: "frontend 10.96.0.1:80 tcp"},
			message: `"shop/a"`,
		},
		"an unknown policy is treated as absent": {
			objects: []runtime.Object{withPolicy(serviceObject("bad", "10.96.1.1"), "Nearest"), sliceObject("bad", "10.0.0.5@node-a")},
			want:    Notice{Reason: UnknownPolicy, Kind: "Service", Object: "shop/bad", Field: policyAnnotation, Value: "Nearest"},
			message: "policy Cluster applies", service: "10.96.1.1", backends: 1,
		},
		"a name of 253 characters costs the service that has it": {
			objects: []runtime.Object{serviceObject(longName, "10.96.1.1"), sliceObject(longName, "10.0.0.5@node-a")},
			want:    Notice{Reason: Skipped, Kind: "Service", Object: "shop/" + longName, Value: longName[:64] + "..."},
			service: "10.96.1.1", backends: 0,
		},
	}
}

// wrongFamily adds an IPv6 endpoint to an IPv4 slice.
func wrongFamily(o runtime.Object) runtime.Object {
	s := sliceOf(o)
	s.Endpoints = append(s.Endpoints, sliceObject("x", "fd00::5@node-a").Endpoints...)
	return s
}

func TestBadObjectCostsOnlyItself(t *testing.T) {
	for name, tc := range badObjects() {
		t.Run(name, func(t *testing.T) {
			var notices []Notice
			var logged bytes.Buffer
			opts := Options{
				OnNotice: func(n Notice) { notices = append(notices, n) },
				Log:      slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelWarn})),
			}
			a := newTestAgent(t, opts, append(threeServices(), tc.objects...)...)
			k := newScriptedKernel()
			k.agent = a
			require.NoError(t, roundErr(a.round(t.Context(), k, take(t, a))))

			require.Len(t, notices, 1)
			got := notices[0]
			require.Contains(t, got.Message, tc.message)
			got.Message = ""
			if tc.want.Field == "" {
				got.Field = ""
			}
			require.Equal(t, tc.want, got)
			require.Equal(t, 1, strings.Count(logged.String(), "level=WARN"), logged.String())
			require.Contains(t, logged.String(), "object="+tc.want.Object)

			text := k.applied()[0].text
			for _, other := range []string{"10.96.0.1 . tcp . 80 . 0 : 10.0.0.1", "10.96.0.2 . tcp . 80 . 0 : 10.0.0.2", "10.96.0.3 . tcp . 80 : goto refuse"} {
				require.Contains(t, text, other, "the other services must be served")
			}
			if tc.service != "" {
				require.Equal(t, tc.backends, strings.Count(text, tc.service+" . tcp . 80 . "))
			}

			// What is still bad in the next round is not told again.
			bad := tc.objects[1].DeepCopyObject()
			sliceOf(bad).Endpoints[0].Conditions.Ready = new(false)
			require.NoError(t, a.store.Set(bad))
			a.round(t.Context(), k, a.store.Take())
			require.Len(t, notices, 1)
		})
	}
}

func TestDuplicateFrontendIsTakenOver(t *testing.T) {
	a := newTestAgent(t, Options{}, append(threeServices(), serviceObject("bad", "10.96.0.1"), sliceObject("bad", "10.0.0.5@node-a"))...)
	k := newScriptedKernel()
	k.agent = a
	a.round(t.Context(), k, take(t, a))
	require.NoError(t, a.store.Delete(serviceObject("a", "10.96.0.1")))
	require.NoError(t, roundErr(a.round(t.Context(), k, take(t, a))))
	texts := k.applied()
	require.Contains(t, texts[len(texts)-1].text, "10.0.0.5")
}

func TestUntrustedTextIsQuotedInLogs(t *testing.T) {
	var logged bytes.Buffer
	svc := withPolicy(serviceObject("bad", "10.96.1.1"), "x\x1b[2J\nlevel=ERROR msg=forged")
	a := newTestAgent(t, Options{Log: slog.New(slog.NewTextHandler(&logged, nil))}, append(threeNodes(), svc)...)
	k := newScriptedKernel()
	k.agent = a
	a.round(t.Context(), k, take(t, a))
	require.NotContains(t, logged.String(), "\x1b")
	require.NotContains(t, logged.String(), "\nlevel=ERROR")
	require.Contains(t, logged.String(), `forged`)
}

func TestLocalAnnotationIsUnknown(t *testing.T) {
	var notices []Notice
	a := newTestAgent(t, Options{OnNotice: func(n Notice) { notices = append(notices, n) }},
		append(threeNodes(), withPolicy(serviceObject("web", "10.96.0.1"), "Local"), sliceObject("web", "10.0.0.2@node-b"))...)
	k := newScriptedKernel()
	k.agent = a
	a.round(t.Context(), k, take(t, a))
	require.Len(t, notices, 1)
	require.Contains(t, k.applied()[0].text, "10.0.0.2", "an annotation cannot cut a service off")
}

// sliceOf is the object as the slice that it is.
func sliceOf(o runtime.Object) *discoveryv1.EndpointSlice { return o.(*discoveryv1.EndpointSlice) }

func roundErr(r Round) error { return r.Err() }
