package main

import (
	"io"
	"log/slog"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

// logFlags say what is logged, and how.
type logFlags struct {
	level     string
	format    string
	verbosity int
}

func (f *logFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.level, "log-level", "info", "least level of messages on standard error: debug, info, warn or error")
	flags.StringVar(&f.format, "log-format", "text", "form of messages: text or json")
	flags.IntVarP(&f.verbosity, "v", "v", 0, "verbosity as in kube-proxy; 4 and more mean --log-level debug")
}

// logger makes the process's logger. Kubernetes' client library logs through it
// too. People who wait for a command to end need no time in its messages.
func (f *logFlags) logger(w io.Writer, withTime bool) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.level)); err != nil {
		return nil, usagef("flag --log-level: unknown level %q: expected debug, info, warn or error", f.level)
	}
	const debugVerbosity = 4
	if f.verbosity >= debugVerbosity {
		level = min(level, slog.LevelDebug)
	}
	opts := &slog.HandlerOptions{Level: level}
	if !withTime {
		opts.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}
	}
	var handler slog.Handler
	switch f.format {
	case "text":
		handler = slog.NewTextHandler(w, opts)
	case "json":
		handler = slog.NewJSONHandler(w, opts)
	default:
		return nil, usagef("flag --log-format: unknown format %q: expected text or json", f.format)
	}
	log := slog.New(handler)
	klog.SetSlogLogger(log.With("from", "client-go"))
	return log, nil
}
