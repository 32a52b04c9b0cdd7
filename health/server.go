package health

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Waits between attempts to listen on a port that is taken: from the first to
// the longest, each twice the one before.
const (
	DefaultFirstRetry   = time.Second
	DefaultLongestRetry = 30 * time.Second
)

// Options configures a Server. The zero value of every field is a safe default.
type Options struct {
	// Healthy tells whether the proxy keeps up with changes. It is called for
	// every request, also at the same time by several. Nil means always.
	Healthy func() bool
	// OnFailure is called when a Service's port cannot listen, the place to make
	// a Kubernetes Event: once when it begins to fail, and again only when the
	// reason changes. The error is a *ListenError. Calls are made by Run, one at
	// a time, and Run waits for them. Nil means nothing is called.
	OnFailure func(service Name, err error)
	// FirstRetry and LongestRetry bound the waits between attempts. Zero means
	// DefaultFirstRetry and DefaultLongestRetry.
	FirstRetry, LongestRetry time.Duration
	// Listen opens a listener, as net.ListenConfig.Listen does, which nil means.
	// It is for callers in another network namespace than their process: Run
	// may call it on any thread.
	Listen func(ctx context.Context, network, address string) (net.Listener, error)
	// Log receives messages. Nil means no logs.
	Log *slog.Logger
}

// Server serves the health check node ports of a node. Its methods may be
// called from any goroutine, also before Run and after it; Sync, Set, Delete
// and SetAddresses return at once and Run follows. Counts are in force when
// these return.
type Server struct {
	opts Options
	kick chan struct{} // holds one element while Run has something to do

	mu        sync.RWMutex
	running   bool
	specs     map[Name]Spec
	addrs     []netip.Addr
	changed   map[Name]struct{}         // whose listeners may have to change
	listening map[Name][]netip.AddrPort // what Run has opened
}

// New returns a Server that serves nothing yet, and will listen on all
// addresses.
func New(opts Options) *Server {
	if opts.Healthy == nil {
		opts.Healthy = func() bool { return true }
	}
	if opts.OnFailure == nil {
		opts.OnFailure = func(Name, error) {}
	}
	if opts.FirstRetry <= 0 {
		opts.FirstRetry = DefaultFirstRetry
	}
	if opts.LongestRetry <= 0 {
		opts.LongestRetry = DefaultLongestRetry
	}
	if opts.Listen == nil {
		opts.Listen = new(net.ListenConfig).Listen
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	return &Server{
		opts: opts, kick: make(chan struct{}, 1),
		specs:     make(map[Name]Spec),
		addrs:     []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()},
		changed:   make(map[Name]struct{}),
		listening: make(map[Name][]netip.AddrPort),
	}
}

// Sync replaces all that is served. It looks at every Service; Set and Delete
// cost nothing for the others.
func (s *Server) Sync(specs map[Name]Spec) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.specs {
		if _, ok := specs[name]; !ok {
			s.delete(name)
		}
	}
	for name, spec := range specs {
		s.set(name, spec)
	}
}

// Set serves a Service, or changes how. A Spec without a port is as good as
// Delete.
func (s *Server) Set(name Name, spec Spec) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(name, spec)
}

// Delete ends serving a Service.
func (s *Server) Delete(name Name) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delete(name)
}

// SetAddresses says where ports listen. The unspecified address of a family
// stands for all addresses of that family, those that come later included; any
// other address is listened on by itself. Listeners on addresses that stay are
// not disturbed. A family without an address has no listeners, which is
// reported for every Service that has the family.
func (s *Server) SetAddresses(addrs []netip.Addr) {
	addrs = distinct(addrs)
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Equal(addrs, s.addrs) {
		return
	}
	s.addrs = addrs
	for name := range s.specs {
		s.touch(name)
	}
}

// Listening returns where the port of a Service listens now, in order.
func (s *Server) Listening(name Name) []netip.AddrPort {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.listening[name])
}

// Run opens, serves and closes ports until ctx ends; then it closes all of
// them, gives running requests a second, and returns nil when nothing of it is
// left. It returns an error only when the Server runs already. It may be called
// again later.
func (s *Server) Run(ctx context.Context) error {
	if !s.begin() {
		return errors.New("run health check server: it runs already; a server is run once at a time")
	}
	defer s.end()
	d := newDesk(s)
	defer d.closeAll()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.kick:
		case <-timer.C:
		}
		next := d.reconcile(ctx)
		if next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(next))
		}
	}
}

func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running {
		return false
	}
	s.running = true
	for name := range s.specs {
		s.touch(name)
	}
	return true
}

func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = false
	clear(s.listening)
}

// set, delete and touch need s.mu.
func (s *Server) set(name Name, spec Spec) {
	if spec.Port == 0 {
		s.delete(name)
		return
	}
	old, known := s.specs[name]
	s.specs[name] = spec
	if !known || !old.listensLike(&spec) {
		s.touch(name)
	}
}

func (s *Server) delete(name Name) {
	if _, known := s.specs[name]; known {
		delete(s.specs, name)
		s.touch(name)
	}
}

// touch makes Run look at a Service's listeners.
func (s *Server) touch(name Name) {
	s.changed[name] = struct{}{}
	select {
	case s.kick <- struct{}{}:
	default: // Run has not looked since the last time, and will see this too
	}
}

// take returns the Services to look at, in the order of their names, and the
// addresses to listen on.
func (s *Server) take() ([]change, []netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changes := make([]change, 0, len(s.changed))
	for _, name := range slices.SortedFunc(maps.Keys(s.changed), compareNames) {
		changes = append(changes, change{name: name, spec: s.specs[name]})
	}
	clear(s.changed)
	return changes, s.addrs
}

// show makes known where a Service's port listens.
func (s *Server) show(name Name, at []netip.AddrPort) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(at) == 0 {
		delete(s.listening, name)
		return
	}
	s.listening[name] = at
}
