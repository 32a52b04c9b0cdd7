package demo

import (
	"context"
	"errors"
	"sync"
	"time"
)

// How the last scene goes, counted from its start.
const (
	terminateAt = 500 * time.Millisecond
	drainAt     = 1000 * time.Millisecond
	replaceAt   = 1500 * time.Millisecond
	leaveEnd    = 2000 * time.Millisecond

	// keptConnections are open from before the scene to its end.
	keptConnections = 8
	leavePause      = time.Millisecond
	drainTimeout    = 2 * time.Second
)

// leaveScene is the scene in which the local endpoint goes away.
type leaveScene struct {
	*demo
	service service
	node    string // where the endpoint is
	start   time.Time

	mu      sync.Mutex
	moments map[string][]moment // by the node where connections began
	kept    *keptTally
	events  []event
	cut     int64 // connections that the leaving pod did not get rid of
	errs    []error
}

// showLeave takes the only endpoint of a node away while connections run, and
// then brings a replacement.
func (d *demo) showLeave(ctx context.Context) (problems []string, err error) {
	d.console.begin("an endpoint goes away while connections run")
	if _, err := d.stage.setPolicy(ctx, policyPreferLocal); err != nil {
		return nil, err
	}
	p := d.stage.sc.pod(leaving)
	s := &leaveScene{demo: d, node: p.node, service: d.stage.sc.service(p.service), moments: make(map[string][]moment)}
	d.leave = s
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	s.print()
	return s.check(), nil
}

// run starts the traffic, lets the events happen, and waits for the traffic.
func (s *leaveScene) run(ctx context.Context) error {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	s.start = time.Now()
	for _, node := range s.stage.sc.nodes() {
		wg.Go(func() { s.connect(ctx, node, stop) })
	}
	wg.Go(func() { s.keep(ctx, stop) })
	err := s.play(ctx)
	close(stop)
	wg.Wait()
	return errors.Join(append(s.errs, err, context.Cause(ctx), s.stage.gone())...)
}

func (s *leaveScene) connect(ctx context.Context, node string, stop <-chan struct{}) {
	l := s.load(node, s.service)
	l.pause = leavePause
	var moments []moment
	var mu sync.Mutex
	err := l.repeat(ctx, func() bool { return !ended(stop) }, func(start time.Time, o outcome) {
		mu.Lock()
		defer mu.Unlock()
		moments = append(moments, moment{at: start.Sub(s.start), outcome: o})
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moments[node] = moments
	s.errs = append(s.errs, err)
}

func (s *leaveScene) keep(ctx context.Context, stop <-chan struct{}) {
	host := s.stage.cluster.Pod(s.stage.sc.client(s.node).name).Host
	k, err := keepMany(ctx, host, s.service.dialled.String(), keptConnections, stop)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = k
	s.errs = append(s.errs, err)
}

// play lets the events happen. The pod goes as Kubernetes has pods go: it is
// marked as terminating and still serves, for its grace period; then it drains;
// then its endpoint is removed.
func (s *leaveScene) play(ctx context.Context) error {
	steps := []struct {
		at   time.Duration
		what string
		do   func() (map[string]time.Time, error)
	}{
		{terminateAt, leaving + " is marked as terminating", func() (map[string]time.Time, error) {
			return s.stage.setCondition(ctx, leaving, terminating)
		}},
		{drainAt, leaving + " drains and ends, its endpoint is removed", func() (map[string]time.Time, error) {
			drained, cancel := context.WithTimeout(ctx, drainTimeout)
			defer cancel()
			s.cut = s.stage.servers[leaving].drain(drained)
			return s.stage.setCondition(ctx, leaving, absent)
		}},
		{replaceAt, replacement + " takes its place", func() (map[string]time.Time, error) {
			return s.stage.setCondition(ctx, replacement, ready)
		}},
		{leaveEnd, "", nil},
	}
	for _, step := range steps {
		if err := s.sleepUntil(ctx, step.at); err != nil {
			return err
		}
		if step.do == nil {
			break
		}
		e := event{at: time.Since(s.start), what: step.what}
		at, err := step.do()
		if err != nil {
			return err
		}
		e.programmed = at[s.node].Sub(s.start)
		s.events = append(s.events, e)
	}
	return nil
}

// sleepUntil waits for a time of the scene and tells how far it is.
func (s *leaveScene) sleepUntil(ctx context.Context, at time.Duration) error {
	for {
		left := at - time.Since(s.start)
		if left <= 0 {
			return nil
		}
		s.console.count(int(time.Since(s.start).Milliseconds()), int(leaveEnd.Milliseconds()))
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(left, redrawEvery)):
		}
	}
}

func (s *leaveScene) print() {
	sc := s.stage.sc
	s.console.printf("\nThe only endpoint of %s/%s on %s goes away while connections run (%s)\n\n",
		namespace, s.service.name, s.node, policyPreferLocal.name)
	s.console.printf("%s\n", timeline(s.moments[s.node], s.events, func(pod string) bool { return sc.nodeOf(pod) == s.node }, leaveEnd))
	for _, node := range sc.nodes() {
		answered, failed := s.sum(node)
		s.console.printf("  %s: %s new connections, %d failed\n", node, thousands(answered+failed), failed)
	}
	s.console.printf("  %s: %d connections kept open meanwhile: %s, %d failed\n", s.node, keptConnections, s.kept, s.kept.failed)
}

// sum counts the new connections from a node.
func (s *leaveScene) sum(node string) (answered, failed int) {
	for _, m := range s.moments[node] {
		if m.err != nil {
			failed++
		} else {
			answered++
		}
	}
	return answered, failed
}
