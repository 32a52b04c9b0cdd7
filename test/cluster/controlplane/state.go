package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"

	"github.com/nearside/nearside/test/cluster/child"
)

// ErrNotStarted is returned by Open when nothing was started in the folder.
var ErrNotStarted = errors.New("no control plane was started here")

// state is what a later process has to know of detached processes.
type state struct {
	Bind  netip.Addr `json:"bind"`
	Ports ports      `json:"ports"`
	Etcd  *child.ID  `json:"etcd,omitempty"`
	API   *child.ID  `json:"apiServer,omitempty"`
	Peer  *child.ID  `json:"peer,omitempty"`
}

// remember writes down which processes were started, as soon as each is, so
// that no failure in between leaves one that nobody knows of.
func (c *ControlPlane) remember() error {
	s := state{Bind: c.options.Bind, Ports: c.ports}
	for _, part := range []struct {
		proc *child.Process
		id   **child.ID
	}{{c.etcd, &s.Etcd}, {c.API.proc, &s.API}, {c.peer.proc, &s.Peer}} {
		if part.proc != nil {
			*part.id = &part.proc.ID
		}
	}
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("remember the processes of the control plane: %w", err)
	}
	if err := os.WriteFile(c.stateFile(), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("remember the processes of the control plane: %w", err)
	}
	return nil
}

// Open finds a control plane that another process started in dir with
// Options.Detach. It can be looked at and stopped, not started again. The error
// is ErrNotStarted when there is none.
func Open(dir string) (*ControlPlane, error) {
	c := &ControlPlane{options: Options{Dir: dir, Detach: true}}
	c.API = &APIServer{plane: c, name: "kube-apiserver"}
	c.peer = &APIServer{plane: c, name: "kube-apiserver-peer"}
	data, err := os.ReadFile(c.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open the control plane in %s: %w", dir, ErrNotStarted)
	}
	var s state
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		return nil, fmt.Errorf("open the control plane in %s: %w", dir, err)
	}
	c.options.Bind, c.ports = s.Bind, s.Ports
	c.API.port, c.peer.port = s.Ports.API, s.Ports.Peer
	c.etcd = found("etcd", c.etcdLog(), s.Etcd)
	c.API.proc = found("kube-apiserver", c.API.Log(), s.API)
	c.peer.proc = found("kube-apiserver", c.peer.Log(), s.Peer)
	return c, nil
}

func found(name, log string, id *child.ID) *child.Process {
	if id == nil {
		return nil
	}
	return child.Find(name, log, *id)
}

// Part is one program of the control plane as Status saw it.
type Part struct {
	Name    string
	PID     int
	Running bool
	// Problem says why a running part is not ready; nil when it is.
	Problem error
}

// Status looks at etcd and the API server.
func (c *ControlPlane) Status(ctx context.Context) []Part {
	var parts []Part
	for _, p := range []struct {
		proc  *child.Process
		ready func(context.Context) error
	}{{c.etcd, c.etcdReady}, {c.API.proc, c.API.ready}} {
		if p.proc == nil {
			continue
		}
		part := Part{Name: p.proc.Name, PID: p.proc.ID.PID, Running: p.proc.Running()}
		if part.Running {
			part.Problem = p.ready(ctx)
		}
		parts = append(parts, part)
	}
	return parts
}
