package demo

import (
	"fmt"
	"io"
	"os"
	"time"
)

// Defaults and limits of Options.
const (
	DefaultConnections = 1000
	DefaultZoneDelay   = 500 * time.Microsecond
	// MaxZoneDelay is as far as one gets on Earth; with more, the demo takes too
	// long and its scenes run into each other.
	MaxZoneDelay = 100 * time.Millisecond
)

// Options configures Run. The zero value is the demo as people see it, without
// its output.
type Options struct {
	// Agent is the program that is run as the agent of each node, with the
	// arguments of "nearside run". Empty means this very program.
	Agent string
	// Connections is how many connections each client makes to each service
	// under each policy. Fewer say less about shares. Zero means
	// DefaultConnections.
	Connections int
	// ZoneDelay is the time a packet takes between two zones, each way. Zero
	// means DefaultZoneDelay, negative no delay,
	// and more than MaxZoneDelay is an error.
	ZoneDelay time.Duration
	// Out gets the tables and the verdict, Progress what is being done. Nil
	// means nowhere. If Progress is a terminal it gets one line that changes,
	// otherwise a line for each step.
	Out, Progress io.Writer
}

func (o Options) withDefaults() (Options, error) {
	if o.Agent == "" {
		self, err := os.Executable()
		if err != nil {
			return o, err
		}
		o.Agent = self
	}
	switch {
	case o.Connections == 0:
		o.Connections = DefaultConnections
	case o.Connections < 0:
		return o, fmt.Errorf("make %d connections from each client: expected a positive number", o.Connections)
	}
	switch {
	case o.ZoneDelay == 0:
		o.ZoneDelay = DefaultZoneDelay
	case o.ZoneDelay < 0:
		o.ZoneDelay = 0
	case o.ZoneDelay > MaxZoneDelay:
		return o, fmt.Errorf("delay packets between zones by %s: expected at most %s", o.ZoneDelay, MaxZoneDelay)
	}
	if o.Out == nil {
		o.Out = io.Discard
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	return o, nil
}
