package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/nearside/nearside/agent"
	"github.com/nearside/nearside/hostsetup"
	"github.com/nearside/nearside/nft"
)

// hostFlags say what the running agent sets on the host, with the names and
// defaults of kube-proxy.
type hostFlags struct {
	options     hostsetup.Options
	oomScoreAdj int
	initOnly    bool
}

func (f *hostFlags) add(flags *pflag.FlagSet) {
	o, preset := &f.options, hostsetup.Defaults()
	flags.BoolVar(&f.initOnly, "init-only", false,
		"set up the host, which takes more privileges than the rest, and end; a later run then needs CAP_NET_ADMIN only")
	flags.IntVar(&o.MaxPerCore, "conntrack-max-per-core", preset.MaxPerCore,
		"connections to track for each CPU of the host, at most 1048576 in all; never lowered; 0 leaves the number alone")
	flags.IntVar(&o.Min, "conntrack-min", preset.Min, "connections to track at least, however few the CPUs")
	flags.DurationVar(&o.TCPEstablishedTimeout, "conntrack-tcp-timeout-established", preset.TCPEstablishedTimeout,
		"how long an idle TCP connection is tracked; 0 leaves the host's value")
	flags.DurationVar(&o.TCPCloseWaitTimeout, "conntrack-tcp-timeout-close-wait", preset.TCPCloseWaitTimeout,
		"how long a TCP connection that one side has closed is tracked; 0 leaves the host's value")
	flags.BoolVar(&o.TCPBeLiberal, "conntrack-tcp-be-liberal", preset.TCPBeLiberal,
		"take packets outside of a TCP connection's window as part of it")
	flags.DurationVar(&o.UDPTimeout, "conntrack-udp-timeout", preset.UDPTimeout,
		"how long a UDP flow without answers is tracked; 0 leaves the host's value")
	flags.DurationVar(&o.UDPStreamTimeout, "conntrack-udp-timeout-stream", preset.UDPStreamTimeout,
		"how long a UDP flow with answers is tracked; 0 leaves the host's value")
	flags.IntVar(&f.oomScoreAdj, "oom-score-adj", hostsetup.DefaultOOMScoreAdj,
		"how willing the kernel is to end the agent when memory runs out, from -1000 (never) to 1000")
}

// host sets the kernel up for the agent.
type host struct {
	hostFlags
	log *slog.Logger
	// missing is true while conntrack's settings are not there to be set.
	missing bool
}

// setUp checks the kernel and brings its settings to what the flags say.
// Whatever cannot be set ends the agent before it has touched anything else.
// The exception are settings that come with conntrack's module: rules bring it,
// so there is another attempt after the first commit, see afterRound.
func (h *host) setUp(ctx context.Context) error {
	if err := hostsetup.CheckKernel("/"); err != nil {
		return err
	}
	err := h.apply(ctx)
	switch {
	case err == nil:
		return nil
	case !h.initOnly && errors.Is(err, hostsetup.ErrNotLoaded):
		h.missing = true
		h.log.Warn("conntrack's settings are not there yet; they are set after the first change of the tables", "error", err)
		return nil
	case errors.Is(err, fs.ErrPermission) && lacksNetAdmin(ctx):
		return nft.ErrPermission // the rest would fail too, and this is what to do about both
	}
	return err
}

func (h *host) apply(ctx context.Context) error {
	changes, err := hostsetup.Apply(ctx, h.options)
	h.logChanges(changes)
	return err
}

// adjustOOMScore is for the process itself, so that what --init-only did does
// not help. The agent works all the same without.
func (h *host) adjustOOMScore() {
	changes, err := hostsetup.SetOOMScoreAdj("/", h.oomScoreAdj)
	h.logChanges(changes)
	if err != nil {
		h.log.Warn("the agent's standing when memory runs out stays as it is", "error", err)
	}
}

func (h *host) logChanges(changes []hostsetup.Change) {
	for _, c := range changes {
		h.log.Info("set a kernel setting", "setting", c.Setting, "value", c.To, "before", c.From)
	}
}

// afterRound tries again what had to wait for the rules. The agent serves by
// then, and goes on whatever comes of it.
func (h *host) afterRound(ctx context.Context, r agent.Round) {
	if !h.missing || r.Err() != nil {
		return
	}
	h.missing = false
	if err := h.apply(ctx); err != nil {
		h.log.Error("conntrack's settings stay as they are", "error", err)
	}
}

// lacksNetAdmin reports whether this process may not even read rules.
func lacksNetAdmin(ctx context.Context) bool {
	conn, err := nft.Dial()
	if err == nil {
		_, err = conn.ReadBack(ctx, nft.IPv4)
		_ = conn.Close()
	}
	return errors.Is(err, nft.ErrPermission)
}
