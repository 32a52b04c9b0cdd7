package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// listenSocket makes a unix socket at path that only its owner may connect to.
// It appears there complete, with mode 0600: it is made in a private folder
// first and then moved. A socket that is already there is replaced only if
// nobody listens on it.
func listenSocket(path string) (net.Listener, error) {
	if err := checkStale(path); err != nil {
		return nil, err
	}
	private, err := os.MkdirTemp(filepath.Dir(path), ".nearside-*")
	if err != nil {
		return nil, fmt.Errorf("make socket %q: %w", path, err)
	}
	defer func() { _ = os.RemoveAll(private) }()
	hidden := filepath.Join(private, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: hidden, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("make socket %q: %w", path, err)
	}
	l.SetUnlinkOnClose(false) // that would be the path it was made at
	if err := errors.Join(os.Chmod(hidden, 0o600), os.Rename(hidden, path)); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("make socket %q: %w", path, err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("make socket %q: %w", path, err)
	}
	return &socketListener{UnixListener: l, path: path, made: info}, nil
}

// checkStale returns an error if path must not be replaced.
func checkStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("make socket %q: %w", path, err)
	case info.Mode()&os.ModeSocket == 0:
		return fmt.Errorf("make socket %q: a file that is not a socket is there; remove it or choose another path", path)
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		_ = conn.Close()
		return fmt.Errorf("make socket %q: another agent listens on it; stop that one or choose another path", path)
	}
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("make socket %q: find out whether another agent listens on it: %w", path, err)
}

// socketListener removes its socket on Close, but not one that somebody else
// has put there since.
type socketListener struct {
	*net.UnixListener
	path string
	made os.FileInfo
}

func (l *socketListener) Close() error {
	if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.made) {
		_ = os.Remove(l.path)
	}
	return l.UnixListener.Close()
}

// explainHandler answers on the socket: GET /explain?target=NAMESPACE/SERVICE.
func (a *Agent) explainHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /explain", func(w http.ResponseWriter, r *http.Request) {
		target, err := ParseTarget(r.URL.Query().Get("target"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		x, err := a.Explain(r.Context(), target)
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(x)
	})
	return mux
}

// ExplainFrom asks the running agent that listens on a unix socket (see
// Options.Socket) what it selects for a service.
func ExplainFrom(ctx context.Context, socket string, t Target) (*Explanation, error) {
	client := http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
		DisableKeepAlives: true,
	}}
	address := "http://agent/explain?" + url.Values{"target": {t.String()}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("ask the agent on %q: %w", socket, err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the agent on %q: %w; is nearside run --socket %s running?", socket, unwrapURL(err), socket)
	}
	defer func() { _ = resp.Body.Close() }()
	return readExplanation(resp)
}

func readExplanation(resp *http.Response) (*Explanation, error) {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("read the agent's answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New(trimLine(body))
	}
	var x Explanation
	if err := json.Unmarshal(body, &x); err != nil {
		return nil, fmt.Errorf("read the agent's answer: %w", err)
	}
	return &x, nil
}

// unwrapURL takes the made-up URL out of an error.
func unwrapURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

func trimLine(b []byte) string {
	const longest = 4096
	s := string(b[:min(len(b), longest)])
	for len(s) > 0 && s[len(s)-1] == '\n' {
		s = s[:len(s)-1]
	}
	return s
}
