package agent

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// listenRetry is the wait between attempts to get an address that is taken, as
// in kube-proxy.
const listenRetry = 5 * time.Second

// serve starts the servers that the options ask for. They end with ctx, and
// background tells when they have.
func (a *Agent) serve(ctx context.Context, background *sync.WaitGroup) error {
	if a.opts.Socket != "" {
		l, err := listenSocket(a.opts.Socket)
		if err != nil {
			return err
		}
		a.log.Info("explaining selections", "socket", a.opts.Socket)
		background.Go(func() { a.serveOn(ctx, "socket", l, a.explainHandler()) })
	}
	a.serveAddress(ctx, background, "healthz", a.opts.HealthzAddress, a.HealthHandler())
	mux := http.NewServeMux()
	mux.Handle("/metrics", a.MetricsHandler())
	a.serveAddress(ctx, background, "metrics", a.opts.MetricsAddress, mux)
	return nil
}

// serveAddress serves on a TCP address. An address that is taken is no reason
// to leave connections without service: it is logged and tried again.
func (a *Agent) serveAddress(ctx context.Context, background *sync.WaitGroup, what, address string, h http.Handler) {
	if address == "" {
		return
	}
	// The first attempt is made by the caller's thread, whose network namespace
	// counts.
	l, err := net.Listen("tcp", address)
	background.Go(func() {
		for ; err != nil; l, err = net.Listen("tcp", address) {
			a.log.Error("cannot listen, trying again", "server", what, "address", address, "error", err, "wait", listenRetry)
			if !pause(ctx, listenRetry) {
				return
			}
		}
		a.log.Info("serving", "server", what, "address", l.Addr().String())
		a.serveOn(ctx, what, l, h)
	})
}

// serveOn serves until ctx ends, and then gives running requests a second.
func (a *Agent) serveOn(ctx context.Context, what string, l net.Listener, h http.Handler) {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = server.Shutdown(grace)
	})
	err := server.Serve(l)
	if !stop() {
		<-stopped
	}
	_ = l.Close()
	if !errors.Is(err, http.ErrServerClosed) {
		a.log.Error("a server has ended", "server", what, "error", err)
	}
}
