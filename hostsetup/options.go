package hostsetup

import (
	"context"
	"fmt"
	"time"
)

// Options says what Apply sets. The zero value leaves everything alone; Defaults
// returns kube-proxy's defaults. The numbers are checked by Apply.
type Options struct {
	// Root is the directory that proc and sys are mounted in. Empty means "/".
	Root string

	// MaxPerCore is the number of connections to allow for each of the host's
	// online CPUs, kube-proxy's --conntrack-max-per-core. 0 leaves the number of
	// connections and the size of the hash table alone, whatever Min says.
	MaxPerCore int
	// Min is the number of connections to allow at least, --conntrack-min.
	Min int

	// TCPEstablishedTimeout is how long an idle TCP connection is remembered,
	// --conntrack-tcp-timeout-established. 0 leaves it alone. Whole seconds, like
	// every time here.
	TCPEstablishedTimeout time.Duration
	// TCPCloseWaitTimeout is how long a TCP connection that one side has closed
	// is remembered, --conntrack-tcp-timeout-close-wait. 0 leaves it alone.
	TCPCloseWaitTimeout time.Duration
	// UDPTimeout is how long a UDP flow without answers is remembered,
	// --conntrack-udp-timeout. 0 leaves it alone.
	UDPTimeout time.Duration
	// UDPStreamTimeout is how long a UDP flow with answers is remembered,
	// --conntrack-udp-timeout-stream. 0 leaves it alone.
	UDPStreamTimeout time.Duration
	// TCPBeLiberal has packets outside of the window of a TCP connection count as
	// part of it, --conntrack-tcp-be-liberal. False leaves the setting alone.
	TCPBeLiberal bool

	// LoadConntrack makes the kernel load its conntrack module, where the
	// settings are missing. Nil means to ask conntrack over netlink, in the
	// network namespace of the calling thread.
	LoadConntrack func(ctx context.Context) error
}

// Defaults of Options and of the OOM score, equal to those of kube-proxy.
const (
	DefaultMaxPerCore            = 32 << 10
	DefaultMin                   = 128 << 10
	DefaultTCPEstablishedTimeout = 24 * time.Hour
	DefaultTCPCloseWaitTimeout   = time.Hour
	DefaultOOMScoreAdj           = -999
)

// Defaults returns the options that kube-proxy has without any flags.
func Defaults() Options {
	return Options{
		MaxPerCore:            DefaultMaxPerCore,
		Min:                   DefaultMin,
		TCPEstablishedTimeout: DefaultTCPEstablishedTimeout,
		TCPCloseWaitTimeout:   DefaultTCPCloseWaitTimeout,
	}
}

// maxNumber is the largest number that the kernel takes for any of its settings.
const maxNumber = 1<<31 - 1

func (o Options) validate() error {
	for _, n := range []struct {
		flag  string
		value int
	}{
		{flag: "--conntrack-max-per-core", value: o.MaxPerCore},
		{flag: "--conntrack-min", value: o.Min},
	} {
		if n.value < 0 || n.value > maxNumber {
			return fmt.Errorf("check %s: %d is not a number from 0 to %d", n.flag, n.value, maxNumber)
		}
	}
	for _, s := range o.timeouts() {
		if d := s.timeout; d < 0 || d%time.Second != 0 || d/time.Second > maxNumber {
			return fmt.Errorf("check %s: %q is not a time of whole seconds, or 0 to leave the setting alone", s.flag, d)
		}
	}
	return nil
}

// timeout is a setting that holds a time.
type timeout struct {
	name, flag string
	timeout    time.Duration
}

func (o Options) timeouts() []timeout {
	return []timeout{
		{name: "nf_conntrack_tcp_timeout_established", flag: "--conntrack-tcp-timeout-established", timeout: o.TCPEstablishedTimeout},
		{name: "nf_conntrack_tcp_timeout_close_wait", flag: "--conntrack-tcp-timeout-close-wait", timeout: o.TCPCloseWaitTimeout},
		{name: "nf_conntrack_udp_timeout", flag: "--conntrack-udp-timeout", timeout: o.UDPTimeout},
		{name: "nf_conntrack_udp_timeout_stream", flag: "--conntrack-udp-timeout-stream", timeout: o.UDPStreamTimeout},
	}
}
