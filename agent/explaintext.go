package agent

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/nearside/nearside/selector"
)

// WriteText writes the explanation for people: what decides, and for each port
// a table of its endpoints.
func (x *Explanation) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "service  %s/%s\n", safe(x.Namespace), safe(x.Service))
	fmt.Fprintf(&b, "node     %s%s%s\n", safe(x.Node), labelled(", zone ", x.Zone), x.nodesText())
	fmt.Fprintf(&b, "policy   %s (%s)\n", safe(x.Policy), x.policyText())
	for i := range x.Ports {
		b.WriteByte('\n')
		x.Ports[i].writeText(&b)
	}
	if len(x.Ports) == 0 {
		b.WriteString("\nno service port has a ClusterIP\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (x *Explanation) nodesText() string {
	switch x.Nodes {
	case 0:
		return ""
	case 1:
		return ", 1 node in the cluster"
	}
	return fmt.Sprintf(", %d nodes in the cluster", x.Nodes)
}

func (x *Explanation) policyText() string {
	switch {
	case x.UnknownPolicy != "":
		return fmt.Sprintf("default; the annotation names unknown policy %q", x.UnknownPolicy)
	case x.PolicySource == "annotation":
		return "annotation " + policyAnnotation
	}
	return "default"
}

func (p *PortExplanation) writeText(b *strings.Builder) {
	fmt.Fprintf(b, "%s%s %s, %s, internalTrafficPolicy %s\n",
		labelled("port ", p.Port, ": "), p.ClusterIP, p.Protocol, p.Family, p.TrafficPolicy)
	p.AnswerExplanation.writeText(b)
	if p.External != nil {
		p.External.writeText(b, p.Port)
	}
}

// writeText writes what the port has besides its ClusterIP, and the answers for
// those who dial it.
func (x *ExternalExplanation) writeText(b *strings.Builder, port string) {
	var dialled []string
	if x.NodePort != 0 {
		dialled = append(dialled, "node port "+strconv.Itoa(int(x.NodePort)))
	}
	for _, ip := range x.LoadBalancerIPs {
		dialled = append(dialled, "load balancer "+ip.String())
	}
	for _, ip := range x.ExternalIPs {
		dialled = append(dialled, "external "+ip.String())
	}
	fmt.Fprintf(b, "%sfrom outside: %s, externalTrafficPolicy %s\n",
		labelled("port ", port, " "), strings.Join(dialled, ", "), x.TrafficPolicy)
	if len(x.SourceRanges) > 0 {
		fmt.Fprintf(b, "  only %s may dial the load balancer\n", joined(x.SourceRanges))
	}
	for i := range x.Answers {
		fmt.Fprintf(b, "  for %s:\n", clientsText[x.Answers[i].Clients])
		x.Answers[i].writeText(b)
	}
}

var clientsText = map[Clients]string{
	AllClients: "everyone", InsideClients: "pods and this node", OutsideClients: "clients outside the cluster",
}

func joined[T fmt.Stringer](list []T) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = v.String()
	}
	return strings.Join(words, ", ")
}

func (x *AnswerExplanation) writeText(b *strings.Builder) {
	fmt.Fprintf(b, "  scope %s, fallback %s, %s: %s\n", x.Scope, yesNo(x.Fallback), x.Code, safe(x.Reason))
	if x.Empty != "" {
		fmt.Fprintf(b, "  no endpoint chosen: connections are answered with %s\n", verdictText(x.Empty))
	}
	if len(x.Endpoints) == 0 {
		b.WriteString("  no endpoints\n")
		return
	}
	writeEndpoints(b, x.Endpoints)
}

func writeEndpoints(b *strings.Builder, endpoints []selector.Explanation) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  ENDPOINT\tNODE\tZONE\tSTATE\tCHOSEN\tWEIGHT\tREASON")
	for _, e := range endpoints {
		weight := "-"
		if e.Chosen {
			weight = strconv.Itoa(e.Weight)
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			e.Addr, orDash(e.Node), orDash(e.Zone), e.State, yesNo(e.Chosen), weight, safe(e.Why))
	}
	_ = t.Flush()
}

func verdictText(empty string) string {
	if empty == selector.Drop.String() {
		return "silence (drop)"
	}
	return "a refusal (reject)"
}

// labelled returns label, value and the words after it, or nothing when there
// is no value.
func labelled(label, value string, after ...string) string {
	if value == "" {
		return ""
	}
	return label + safe(value) + strings.Join(after, "")
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return safe(s)
}

// safe returns text from an object as it can be shown on a terminal: quoted if
// anything in it would not be seen.
func safe(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
