package demo

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/nearside/nearside/internal/netlab"
)

// server is what runs in an endpoint's pod: it answers every request with the
// name of the pod.
type server struct {
	name     string
	http     *http.Server
	open     atomic.Int64 // connections
	draining atomic.Bool
	ended    chan struct{} // closed when Serve has returned
}

// startServer listens in the pod's namespace and serves until stop or drain.
func startServer(ctx context.Context, name string, p *netlab.ClusterPod) (*server, error) {
	l, err := p.Host.Listen(ctx, "tcp4", podAddress(p))
	if err != nil {
		return nil, err
	}
	s := &server{name: name, ended: make(chan struct{})}
	s.http = &http.Server{Handler: http.HandlerFunc(s.answer), ConnState: s.count, ReadHeaderTimeout: time.Minute}
	go func() {
		defer close(s.ended)
		_ = s.http.Serve(l) // returns when closed; anything else shows as failed connections
	}()
	return s, nil
}

func (s *server) answer(w http.ResponseWriter, _ *http.Request) {
	if s.draining.Load() {
		w.Header().Set("Connection", "close")
	}
	_, _ = io.WriteString(w, s.name)
}

func (s *server) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.open.Add(-1)
	default:
	}
}

// drain ends the server as a well-behaved pod does: every answer from now on
// asks the client to close, and when no connection is open, it stops to listen.
// It returns the number of connections it had to cut off when ctx ended.
func (s *server) drain(ctx context.Context) (cut int64) {
	s.draining.Store(true)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for s.open.Load() > 0 {
		select {
		case <-ctx.Done():
			cut = s.open.Load()
			s.stop()
			return cut
		case <-tick.C:
		}
	}
	s.stop()
	return 0
}

// stop ends the server and all its connections at once.
func (s *server) stop() {
	if err := s.http.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return
	}
	<-s.ended
}
