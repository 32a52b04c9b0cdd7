package semantics

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nearside/nearside/agent"
	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/internal/packettest"
	"github.com/nearside/nearside/nft"
)

// walk leads a live Service through all types and policies and back, and its
// endpoints from ready to gone.
var walk = []struct {
	name    string
	change  []runtime.Object
	removed []runtime.Object
}{
	{name: "a ClusterIP Service without endpoints", change: objects(web())},
	{name: "with a slice", change: objects(endpoints("web", nearA8(), farA8()))},
	{name: "a node port", change: objects(web(nodePort))},
	{name: "another node port", change: objects(web(nodePort, func(s *corev1.Service) { s.Spec.Ports[0].NodePort = 30090 }))},
	{name: "a load balancer", change: objects(web(nodePort, vips(vip)))},
	{name: "external policy Local", change: objects(web(nodePort, vips(vip), externalLocal))},
	{name: "no local endpoint", change: objects(endpoints("web", farA8(), farB8()))},
	{name: "a local endpoint terminates", change: objects(endpoints("web", farA8(), "10.1.1.5@node-a terminating"))},
	{name: "internal policy Local too", change: objects(web(nodePort, vips(vip), externalLocal, internalLocal))},
	{name: "source ranges", change: objects(web(nodePort, vips(vip), externalLocal, sourceRanges("203.0.113.0/24", "203.0.114.0/24")))},
	{name: "one range", change: objects(web(nodePort, vips(vip), sourceRanges("203.0.114.0/24")))},
	{name: "an external address", change: objects(web(everyWay, sourceRanges("203.0.114.0/24")))},
	{name: "no ranges", change: objects(web(everyWay))},
	{name: "many endpoints", change: objects(endpoints("web", nearA8(), nearB8(), farA8(), farB8(), "10.1.3.6@node-c"))},
	{name: "fewer in another slice", change: objects(endpoints("web", nearA8()), slice("web", "web-2", farB8()))},
	{name: "hints", change: objects(slice("web", "web-2"), endpoints("web", "10.1.1.5@node-a zone=zone-1", "10.1.2.5@node-b zone=zone-2"))},
	{name: "another zone", change: objects(node("node-a", "zone-2", "192.0.2.11", "10.1.1.0/24"))},
	{name: "a terminating endpoint", change: objects(nodeA(), endpoints("web", "10.1.1.5@node-a terminating", farA8()))},
	{name: "all terminate", change: objects(endpoints("web", "10.1.1.5@node-a terminating", "10.1.2.5@node-b terminating"))},
	{name: "all are gone", change: objects(endpoints("web", "10.1.1.5@node-a gone", "10.1.2.5@node-b gone"))},
	{name: "another ClusterIP", change: objects(web(everyWay, at("10.96.0.20")), endpoints("web", nearA8()))},
	{name: "given to another proxy", change: objects(web(everyWay, ofAnotherProxy))},
	{name: "headless", change: objects(web(at("None")))},
	{name: "a ClusterIP Service again", change: objects(web())},
	{name: "without the Service", removed: objects(web())},
	{name: "a ClusterIP Service once more", change: objects(web())},
	{name: "without anything", removed: objects(web(), endpoints("web"), slice("web", "web-2"))},
}

// TestTheStateAfterEveryChangeIsThatOfAFreshStart compares the kernel after each
// change with what an agent would write that begins with the objects of then.
func TestTheStateAfterEveryChangeIsThatOfAFreshStart(t *testing.T) {
	lab := packettest.New(t, packettest.Options{})
	for _, f := range nft.Families {
		t.Run(f.String(), func(t *testing.T) {
			s := newStage(t, lab, f, &row{})
			for _, step := range walk {
				if step.change != nil {
					s.change(t, step.change...)
				}
				if step.removed != nil {
					s.remove(t, step.removed...)
				}
				want := contentOf(freshText(t, s))
				got := contentOf(s.Node.Run(t, "nft", "list", "table", f.String(), "nearside"))
				require.NotEmpty(t, want.elements["frontends"], "the marker at least is served")
				require.NotEmpty(t, want.chains["prerouting"])
				for name, elements := range want.elements {
					require.Equal(t, elements, got.elements[name], "%s: %s", step.name, name)
				}
				for name, rules := range want.chains {
					require.Equal(t, rules, got.chains[name], "%s: chain %s", step.name, name)
				}
				require.ElementsMatch(t, slices.Collect(maps.Keys(want.elements)), slices.Collect(maps.Keys(got.elements)), step.name)
			}
		})
	}
}

// freshText is the stage's table as an agent would write it that knows nothing
// of the past.
func freshText(t *testing.T, s *stage) string {
	t.Helper()
	opts := s.options
	opts.OnRound, opts.Families = nil, []nft.Family{s.family}
	opts.Source = given(append(slices.Collect(maps.Values(s.objects)), marker(s.step)))
	a, err := agent.New(opts)
	require.NoError(t, err)
	text, err := a.Render(t.Context())
	require.NoError(t, err)
	return text
}

// given is a source that has all its objects at once.
type given []runtime.Object

func (g given) Run(ctx context.Context, store *informer.Store) error {
	if err := store.Replace(g...); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// content is a table without what depends on its past: the slots that endpoints
// have in a frontend.
type content struct{ elements, chains map[string][]string }

var (
	objectPattern  = regexp.MustCompile(`(?s)\n\t(map|set|chain) ([\w-]+) \{\n(.*?)\n\t\}`)
	elementPattern = regexp.MustCompile(`(?s)elements = \{ (.*?) \}`)
	slotPattern    = regexp.MustCompile(` \. \d+ : `)
)

func contentOf(text string) content {
	c := content{elements: map[string][]string{}, chains: map[string][]string{}}
	for _, m := range objectPattern.FindAllStringSubmatch(text, -1) {
		kind, name, body := m[1], m[2], m[3]
		if kind == "chain" {
			c.chains[name] = strings.Split(body, "\n")
			continue
		}
		c.elements[name] = nil
		if e := elementPattern.FindStringSubmatch(body); e != nil {
			for element := range strings.SplitSeq(e[1], ",") {
				element = strings.TrimSpace(element)
				if name == "backends" {
					element = slotPattern.ReplaceAllString(element, " : ")
				}
				c.elements[name] = append(c.elements[name], element)
			}
			slices.Sort(c.elements[name])
		}
	}
	return c
}
