package demo

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nearside/nearside/internal/netlab"
	"github.com/nearside/nearside/nft"
)

// kernelView reads the tables of the nodes, to know when an agent has done its
// work. It asks the kernel and not the agent: that is what connections see.
type kernelView struct {
	conns   map[string]*nft.Conn // by node
	timeout time.Duration        // for an agent to program a change
}

func openKernelView(nodes map[string]*netlab.Host) (*kernelView, error) {
	v := &kernelView{conns: make(map[string]*nft.Conn), timeout: programmedTimeout}
	for name, host := range nodes {
		err := host.Do(func() (err error) {
			v.conns[name], err = nft.Dial()
			return err
		})
		if err != nil {
			delete(v.conns, name)
			v.close()
			return nil, err
		}
	}
	return v, nil
}

func (v *kernelView) close() {
	for _, c := range v.conns {
		_ = c.Close()
	}
}

// destinations reads where a node's table sends connections: frontends that
// drop or refuse lead nowhere.
func (v *kernelView) destinations(ctx context.Context, node string) (destinations, error) {
	rules, err := v.conns[node].ReadBack(ctx, nft.IPv4)
	if err != nil || rules == nil {
		return nil, err
	}
	return parseDestinations(rules.Text()), nil
}

// destinations holds, for every address and port that clients dial, the
// endpoints they may come out at, sorted. The text of a table is its contract:
// it is all that this depends on.
type destinations map[netip.AddrPort][]netip.AddrPort

var (
	frontendElement = regexp.MustCompile(`(\S+) \. tcp \. (\d+) : (?:goto|drop)`)
	backendElement  = regexp.MustCompile(`(\S+) \. tcp \. (\d+) \. \d+ : (\S+) \. (\d+)`)
)

// parseDestinations reads the text of a table.
func parseDestinations(text string) destinations {
	found := make(map[netip.AddrPort]map[netip.AddrPort]bool)
	for _, m := range frontendElement.FindAllStringSubmatch(text, -1) {
		if dialled, err := addrPort(m[1], m[2]); err == nil {
			found[dialled] = make(map[netip.AddrPort]bool)
		}
	}
	for _, m := range backendElement.FindAllStringSubmatch(text, -1) {
		dialled, err1 := addrPort(m[1], m[2])
		backend, err2 := addrPort(m[3], m[4])
		if err1 == nil && err2 == nil && found[dialled] != nil {
			found[dialled][backend] = true
		}
	}
	d := make(destinations)
	for dialled, backends := range found {
		d[dialled] = slices.SortedFunc(maps.Keys(backends), netip.AddrPort.Compare)
	}
	return d
}

func addrPort(addr, port string) (netip.AddrPort, error) {
	return netip.ParseAddrPort(addr + ":" + port)
}

// programmedTimeout is how long an agent may take for a change.
const programmedTimeout = 10 * time.Second

// await waits until the kernel of every node sends connections where wanted
// says, and returns when each did so first. gone ends it early with an error.
func (v *kernelView) await(ctx context.Context, wanted map[string]destinations, gone func() error) (map[string]time.Time, error) {
	at := make(map[string]time.Time)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(v.timeout)
	for {
		for node, want := range wanted {
			if _, done := at[node]; done {
				continue
			}
			got, err := v.destinations(ctx, node)
			switch {
			case err != nil:
				return nil, fmt.Errorf("read table of %s: %w", node, err)
			case got.holds(want):
				at[node] = time.Now()
			case time.Now().After(deadline):
				return nil, &lateError{node: node, after: v.timeout, got: got, want: want}
			}
		}
		if len(at) == len(wanted) {
			return at, nil
		}
		if err := gone(); err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// lateError is that an agent did not do its work in time.
type lateError struct {
	node      string
	after     time.Duration
	got, want destinations
}

func (e *lateError) Error() string {
	return fmt.Sprintf("wait for the agent of %s: after %s its table sends connections to %s, expected %s",
		e.node, e.after, e.got, e.want)
}

// holds reports whether all that is wanted is so.
func (d destinations) holds(want destinations) bool {
	for dialled, backends := range want {
		got, ok := d[dialled]
		if !ok || !slices.Equal(got, backends) {
			return false
		}
	}
	return true
}

func (d destinations) String() string {
	if len(d) == 0 {
		return "nowhere"
	}
	var words []string
	for _, dialled := range slices.SortedFunc(maps.Keys(d), netip.AddrPort.Compare) {
		words = append(words, fmt.Sprintf("%s: %v", dialled, d[dialled]))
	}
	return strings.Join(words, ", ")
}
