package demo

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/nearside/nearside/internal/netlab"
)

// stage is everything that runs: the cluster, its pods and its agents.
type stage struct {
	sc        *scenario
	cluster   *netlab.Cluster
	servers   map[string]*server // by pod
	agents    []*nodeAgent
	kernels   *kernelView
	manifests *manifests

	// policy and conditions are what the manifests say now.
	policy     policy
	conditions conditions
}

// build makes the hosts and starts what runs in the pods. After an error the
// stage holds what was started so far.
func (s *stage) build(ctx context.Context, lab *netlab.Lab, delay time.Duration) (err error) {
	s.cluster, err = netlab.BuildCluster(ctx, lab, netlab.Plan{Zones: s.sc.zones, ZoneDelay: delay})
	if err != nil {
		return err
	}
	s.servers = make(map[string]*server)
	for _, p := range s.sc.pods {
		if p.service == "" {
			continue
		}
		if s.servers[p.name], err = startServer(ctx, p.name, s.cluster.Pod(p.name)); err != nil {
			delete(s.servers, p.name)
			return fmt.Errorf("start pod %s: %w", p.name, err)
		}
	}
	return nil
}

// startAgents writes the first manifests into a folder below base, starts an
// agent on every node, and waits until all have programmed their kernels.
func (s *stage) startAgents(ctx context.Context, program, base string) (err error) {
	addrs := make(map[string]netip.Addr)
	for _, p := range s.sc.pods {
		addrs[p.name] = s.cluster.Pod(p.name).Addr
	}
	if s.manifests, err = newManifests(base, s.sc, addrs); err != nil {
		return err
	}
	if err = errors.Join(s.manifests.writeNodes(), s.manifests.writeServices(s.policy), s.manifests.writeEndpoints(s.conditions)); err != nil {
		return err
	}
	hosts := make(map[string]*netlab.Host)
	for _, name := range s.sc.nodes() {
		hosts[name] = s.cluster.Node(name).Host
	}
	if s.kernels, err = openKernelView(hosts); err != nil {
		return err
	}
	for _, name := range s.sc.nodes() {
		a, err := startAgent(program, base, s.manifests.folder, name, hosts[name])
		if err != nil {
			return err
		}
		s.agents = append(s.agents, a)
	}
	_, err = s.await(ctx)
	return err
}

// setPolicy gives every service another policy and waits until the kernels have
// it. It returns how long the slowest took.
func (s *stage) setPolicy(ctx context.Context, p policy) (time.Duration, error) {
	start := time.Now()
	s.policy = p
	if err := s.manifests.writeServices(p); err != nil {
		return 0, err
	}
	at, err := s.await(ctx)
	return slowest(at).Sub(start), err
}

// setCondition changes the state of an endpoint and waits until the kernels
// have it. It returns when each node had.
func (s *stage) setCondition(ctx context.Context, pod string, c condition) (map[string]time.Time, error) {
	s.conditions[pod] = c
	if err := s.manifests.writeEndpoints(s.conditions); err != nil {
		return nil, err
	}
	return s.await(ctx)
}

// await waits until every kernel does what the manifests ask for.
func (s *stage) await(ctx context.Context) (map[string]time.Time, error) {
	wanted := make(map[string]destinations)
	for _, node := range s.sc.nodes() {
		d := make(destinations)
		for _, svc := range s.sc.services {
			d[svc.dialled] = s.addresses(s.sc.allowed(s.policy, svc.name, node, s.conditions))
		}
		wanted[node] = d
	}
	at, err := s.kernels.await(ctx, wanted, s.gone)
	if late := new(lateError); errors.As(err, &late) {
		i := slices.IndexFunc(s.agents, func(a *nodeAgent) bool { return a.node == late.node })
		return nil, fmt.Errorf("%w; the agent last said: %s", err, s.agents[i].lastWords())
	}
	return at, err
}

// addresses returns where pods listen, sorted.
func (s *stage) addresses(pods []string) (addrs []netip.AddrPort) {
	for _, name := range pods {
		addrs = append(addrs, netip.AddrPortFrom(s.cluster.Pod(name).Addr, backendPort))
	}
	slices.SortFunc(addrs, netip.AddrPort.Compare)
	return addrs
}

// gone returns an error if any agent has ended.
func (s *stage) gone() error {
	for _, a := range s.agents {
		if err := a.gone(); err != nil {
			return err
		}
	}
	return nil
}

// close ends everything, in the order in which it depends on each other.
func (s *stage) close() error {
	var errs []error
	for _, a := range s.agents {
		errs = append(errs, a.stop())
	}
	for _, srv := range s.servers {
		srv.stop()
	}
	if s.kernels != nil {
		s.kernels.close()
	}
	if s.cluster != nil {
		errs = append(errs, s.cluster.Close())
	}
	return errors.Join(errs...)
}

func slowest(at map[string]time.Time) (latest time.Time) {
	for _, t := range at {
		if t.After(latest) {
			latest = t
		}
	}
	return latest
}
