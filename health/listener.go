package health

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of what a client may hold up. Health checks are small and quick.
const (
	requestTimeout = 5 * time.Second
	idleTimeout    = time.Minute
	headerLimit    = 16 << 10
	closeGrace     = time.Second
)

// listener is one open port with its HTTP server.
type listener struct {
	inner   net.Listener
	server  *http.Server
	closing atomic.Bool
	ended   chan struct{}
	err     error // why it ended; read it only after ended is closed
}

// serve answers on l, which listens on the given address, for a Service until
// the listener is closed. Its goroutines and connections are counted in running.
func (s *Server) serve(name Name, at netip.Addr, l net.Listener, running *sync.WaitGroup) *listener {
	o := &listener{inner: l, ended: make(chan struct{})}
	o.server = &http.Server{
		Handler: s.handler(name, at),
		// Without it the server itself answers "OPTIONS *": 200, and nothing else.
		DisableGeneralOptionsHandler: true,
		ReadTimeout:                  requestTimeout,
		WriteTimeout:                 requestTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               headerLimit,
		ErrorLog:                     slog.NewLogLogger(s.opts.Log.Handler(), slog.LevelDebug),
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				running.Add(1)
			case http.StateClosed, http.StateHijacked:
				running.Done()
			case http.StateActive, http.StateIdle:
			}
		},
	}
	running.Go(func() {
		o.err = o.server.Serve(l)
		close(o.ended)
		if !o.closing.Load() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.touch(name)
		}
	})
	return o
}

// hasEnded reports whether the listener stopped serving.
func (o *listener) hasEnded() bool {
	select {
	case <-o.ended:
		return true
	default:
		return false
	}
}

// close makes the port free at once. Requests that have been accepted are
// answered, within a second.
func (o *listener) close(running *sync.WaitGroup) {
	o.closing.Store(true)
	_ = o.inner.Close()
	running.Go(func() {
		<-o.ended // from now on all connections are known to the server
		ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
		defer cancel()
		if o.server.Shutdown(ctx) != nil {
			_ = o.server.Close()
		}
	})
}
