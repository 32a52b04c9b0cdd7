package demo

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/nearside/nearside/internal/netlab"
)

// minSyncPeriod of the agents. The last scene makes several changes within a
// second, which the default would put together.
const minSyncPeriod = 100 * time.Millisecond

// nodeAgent is "nearside run" on one node.
type nodeAgent struct {
	node    string
	process *netlab.Process
	log     string // path of what it printed
}

// startAgent starts the agent of a node. Its health and metrics servers are
// off: nobody asks them here.
func startAgent(program, base, folder, node string, host *netlab.Host) (*nodeAgent, error) {
	a := &nodeAgent{node: node, log: filepath.Join(base, node+".log")}
	log, err := os.Create(a.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(program, "run", //nolint:noctx // stopped in order, and killed with this process
		"--manifests", folder, "--node-name", node, "--cluster-cidr", netlab.PodNetwork.String(),
		"--min-sync-period", minSyncPeriod.String(), "--healthz-bind-address=", "--metrics-bind-address=",
		// The machine's settings are not the demo's to change.
		"--conntrack-max-per-core=0", "--conntrack-tcp-timeout-established=0", "--conntrack-tcp-timeout-close-wait=0",
		"--oom-score-adj=0")
	cmd.Stdout, cmd.Stderr = log, log
	a.process, err = host.Start(cmd)
	if err != nil {
		return nil, fmt.Errorf("start agent of %s: %w", node, err)
	}
	return a, nil
}

// gone returns an error if the agent has ended, with its last words.
func (a *nodeAgent) gone() error {
	if !ended(a.process.Done()) {
		return nil
	}
	if a.process.Err() == nil {
		return fmt.Errorf("agent of %s ended by itself: %s", a.node, a.lastWords())
	}
	return fmt.Errorf("agent of %s ended by itself (%w): %s", a.node, a.process.Err(), a.lastWords())
}

// lastWords returns the last line that the agent printed.
func (a *nodeAgent) lastWords() string {
	said, err := os.ReadFile(a.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return last
	}
	return "(it said nothing)"
}

// stop ends the agent. One that has ended before has been noticed elsewhere.
func (a *nodeAgent) stop() error {
	const patience = 5 * time.Second
	if ended(a.process.Done()) {
		return nil
	}
	if err := a.process.Stop(patience); err != nil {
		return fmt.Errorf("stop agent of %s: %w", a.node, err)
	}
	var exit *exec.ExitError
	if err := a.process.Err(); errors.As(err, &exit) && exit.Exited() { // and not by the signal, before it knew better
		return fmt.Errorf("stop agent of %s: %w: %s", a.node, err, a.lastWords())
	}
	return nil
}
