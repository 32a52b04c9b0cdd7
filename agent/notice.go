package agent

import (
	"log/slog"
	"strconv"
	"strings"

	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/nft"
)

// NoticeReason is a stable word for what a Notice is about.
type NoticeReason string

// The reasons of a Notice.
const (
	// UnknownPolicy: the annotation nearside.dev/policy names no policy. It is
	// treated as absent.
	UnknownPolicy NoticeReason = "UnknownPolicy"
	// Skipped: an object, or a part of one, cannot be used and was left out.
	Skipped NoticeReason = "Skipped"
	// Quarantined: the kernel refused what a service asks for. The service is
	// left out and tried again later.
	Quarantined NoticeReason = "Quarantined"
	// HealthCheckFailed: the health check port of a service cannot be served.
	HealthCheckFailed NoticeReason = "HealthCheckFailed"
	// UnrestrictedFamily: the source ranges of a Service are all of one IP family,
	// so the load-balancer addresses of the other are open to everyone.
	UnrestrictedFamily NoticeReason = "UnrestrictedFamily"
)

// Notice tells of an object that the agent could not use as it is. It cost only
// that object, never another.
type Notice struct {
	Reason NoticeReason
	// Kind is the kind of the object, such as "Service" or "EndpointSlice".
	Kind string
	// Object is the object's "namespace/name".
	Object string
	// Field and Value say where in the object the matter lies, if known. Value
	// is untrusted text.
	Field, Value string
	// Message says what is wrong and what the agent does about it.
	Message string
}

// attrs returns the notice for a structured log, which quotes untrusted text.
func (n Notice) attrs() []slog.Attr {
	attrs := []slog.Attr{
		slog.String("reason", string(n.Reason)),
		slog.String("kind", n.Kind),
		slog.String("object", n.Object),
	}
	if n.Field != "" {
		attrs = append(attrs, slog.String("field", n.Field))
	}
	if n.Value != "" {
		attrs = append(attrs, slog.String("value", n.Value))
	}
	return attrs
}

func noticeOfSource(p informer.Problem) Notice {
	return Notice{Reason: Skipped, Kind: p.Kind, Object: p.Object, Field: p.Field, Value: unquote(p.Value), Message: p.Reason}
}

// unquote undoes the quotes of a value that the source has made safe to print,
// because a Notice holds plain text and whoever prints it quotes it. A value
// that was shortened keeps its dots.
func unquote(quoted string) string {
	text, shortened := strings.CutSuffix(quoted, "...")
	plain, err := strconv.Unquote(text)
	switch {
	case err != nil:
		return quoted
	case shortened:
		return plain + "..."
	}
	return plain
}

func noticeOfTable(p nft.Problem) Notice {
	return Notice{Reason: Skipped, Kind: "Service", Object: p.Service, Field: portField(p.Port), Value: p.Object, Message: p.Reason + "; it is left out"}
}

func noticeOfServiceCIDR(p nft.Problem) Notice {
	return Notice{Reason: Skipped, Kind: "ServiceCIDR", Value: p.Object, Message: p.Reason + "; it is left out"}
}

func noticeOfPolicy(s *informer.Service, used string) Notice {
	return Notice{
		Reason: UnknownPolicy, Kind: "Service", Object: s.Name.String(),
		Field: policyAnnotation, Value: s.Policy,
		Message: "unknown policy, treated as absent: policy " + used + " applies",
	}
}

func noticeOfUnrestricted(s *informer.Service, port *informer.ServicePort) Notice {
	family := familyLabel(nft.FamilyOf(port.ClusterIP.Addr()))
	return Notice{
		Reason: UnrestrictedFamily, Kind: "Service", Object: s.Name.String(), Field: "spec.loadBalancerSourceRanges",
		Message: "no range is " + family + ", so everyone may dial the load balancer's " + family + " addresses: add ranges of that family",
	}
}

func noticeOfQuarantine(name informer.Name, f nft.Family, err error) Notice {
	return Notice{
		Reason: Quarantined, Kind: "Service", Object: name.String(),
		Message: "the kernel refused it for " + familyLabel(f) + ", so it is left out and tried again: " + err.Error(),
	}
}

func noticeOfCheck(name informer.Name, err error) Notice {
	return Notice{
		Reason: HealthCheckFailed, Kind: "Service", Object: name.String(), Field: "spec.healthCheckNodePort",
		Message: err.Error() + "; it is tried again",
	}
}

func portField(port string) string {
	if port == "" {
		return ""
	}
	return "port " + port
}

const policyAnnotation = "nearside.dev/policy"
