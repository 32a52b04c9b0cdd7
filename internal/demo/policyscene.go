package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// How clients behave in the scenes of the policies. Few connections at a time
// and a pause after each leave room on two processors, so that the time to
// connect tells something about the network.
const (
	workersPerLoad = 2
	pauseAfter     = 200 * time.Microsecond
	// dropAttempts are tried where a policy demands that nothing answers, each
	// for dropPatience.
	dropAttempts = 20
	dropPatience = 150 * time.Millisecond
)

// result is what connections under one policy came to.
type result struct {
	policy   policy
	services map[string][]measured // a row for each node
}

// showPolicy is a scene: connections from every node to every service under one
// policy. It returns what is not as it should be.
func (d *demo) showPolicy(ctx context.Context, p policy) (problems []string, err error) {
	d.console.begin("policy " + p.name)
	changes := p != d.stage.policy
	took, err := d.stage.setPolicy(ctx, p)
	if err != nil {
		return nil, err
	}
	all, err := d.measure(ctx, p)
	if err != nil {
		return nil, err
	}
	d.results = append(d.results, result{policy: p, services: all})
	d.console.printf("\n%s: %s\n", p.name, p.says)
	if changes {
		d.console.printf("in the kernel of every node %.0f ms after the manifest was written\n", took.Seconds()*1000)
	}
	for _, s := range d.stage.sc.services {
		d.console.printf("\n  %s/%s %s\n%s", namespace, s.name, s.dialled, indent(d.stage.sc.policyTable(s.name, all[s.name])))
		for i := range all[s.name] {
			m := &all[s.name][i]
			for _, text := range m.check() {
				problems = append(problems, fmt.Sprintf("%s, %s/%s from %s: %s", p.name, namespace, s.name, m.node, text))
			}
		}
	}
	return problems, nil
}

// measure makes the connections of a scene, from all nodes and to all services
// at the same time.
func (d *demo) measure(ctx context.Context, p policy) (map[string][]measured, error) {
	var wg sync.WaitGroup
	var done atomic.Int64
	var errs []error
	var mu sync.Mutex
	total := 0
	all := make(map[string][]measured)
	progress := func() { d.console.count(int(done.Add(1)), total) }
	type job struct {
		load load
		n    int
		into *measured
	}
	var jobs []job
	sc := d.stage.sc
	for _, s := range sc.services {
		all[s.name] = make([]measured, len(sc.nodes()))
		for i, node := range sc.nodes() {
			m := &all[s.name][i]
			m.node, m.allowed = node, sc.allowed(p, s.name, node, d.stage.conditions)
			l, n := d.load(node, s), d.opts.Connections
			if m.dropped() {
				l.patience, n = dropPatience, min(n, dropAttempts)
			}
			total += n
			jobs = append(jobs, job{load: l, n: n, into: m})
		}
	}
	for _, j := range jobs {
		wg.Go(func() {
			t, err := j.load.times(ctx, j.n, progress)
			mu.Lock()
			defer mu.Unlock()
			j.into.tally = t
			errs = append(errs, err)
		})
	}
	wg.Wait()
	return all, errors.Join(append(errs, context.Cause(ctx), d.stage.gone())...)
}

// load describes connections from the client of a node to a service.
func (d *demo) load(node string, s service) load {
	return load{
		host: d.stage.cluster.Pod(d.stage.sc.client(node).name).Host, address: s.dialled.String(),
		workers: workersPerLoad, pause: pauseAfter, patience: patience,
	}
}

// check compares what happened with what the policy allows.
func (m *measured) check() (problems []string) {
	if m.dropped() {
		return m.checkDropped()
	}
	if m.tally.failed > 0 {
		problems = append(problems, fmt.Sprintf("%d connections failed, most often: %s", m.tally.failed, m.tally.reason()))
	}
	if m.tally.answered == 0 {
		return append(problems, "no connection was answered")
	}
	for _, pod := range m.tally.pods() {
		if !slices.Contains(m.allowed, pod) {
			problems = append(problems, fmt.Sprintf("%d connections went to %q, which the policy does not allow", m.tally.byPod[pod], pod))
		}
	}
	even := 1 / float64(len(m.allowed))
	for _, pod := range m.allowed {
		if share := m.tally.share(pod); !plausible(share, even, m.tally.answered) {
			problems = append(problems, fmt.Sprintf("%s answered %.1f%% of %d connections, expected about %.1f%%",
				pod, 100*share, m.tally.answered, 100*even))
		}
	}
	return problems
}

// checkDropped: silence is the only right answer.
func (m *measured) checkDropped() (problems []string) {
	if m.tally.answered > 0 {
		problems = append(problems, fmt.Sprintf("%d connections were answered, by %s, though the node has no endpoint",
			m.tally.answered, strings.Join(m.tally.pods(), " and ")))
	}
	silent := plain("connect", errTimeout).Error()
	if n := m.tally.failed - m.tally.reasons[silent]; n > 0 {
		problems = append(problems, fmt.Sprintf("%d connections were refused instead of dropped, most often: %s", n, m.tally.reason()))
	}
	return problems
}

// indent puts two spaces before each line.
func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}
