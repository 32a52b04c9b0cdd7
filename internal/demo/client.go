package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"github.com/nearside/nearside/internal/netlab"
)

// patience is how long a client waits for a connection or an answer. It is
// longer than the kernel waits before it sends a lost packet again, so a lost
// packet shows as a slow connection and not as a failed one.
const patience = 3 * time.Second

const (
	oneRequest  = "GET / HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n"
	nextRequest = "GET / HTTP/1.1\r\nHost: shop\r\n\r\n"
)

func podAddress(p *netlab.ClusterPod) string {
	return netip.AddrPortFrom(p.Addr, backendPort).String()
}

// exchange makes one new connection from the calling thread's namespace, with
// one request.
func exchange(ctx context.Context, address string, patience time.Duration) outcome {
	conn, took, err := dial(ctx, address, patience)
	if err != nil {
		return outcome{err: err}
	}
	defer conn.Close()
	pod, _, err := ask(conn, bufio.NewReader(conn), oneRequest)
	return outcome{pod: pod, connect: took, err: err}
}

// dial connects and tells how long that took.
func dial(ctx context.Context, address string, patience time.Duration) (net.Conn, time.Duration, error) {
	d := net.Dialer{Timeout: patience}
	start := time.Now()
	conn, err := d.DialContext(ctx, "tcp4", address)
	took := time.Since(start)
	if err != nil {
		return nil, took, plain("connect", err)
	}
	return conn, took, nil
}

// ask sends a request and returns the name of the pod that answers, and whether
// it keeps the connection open for more.
func ask(conn net.Conn, r *bufio.Reader, request string) (pod string, more bool, err error) {
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", false, plain("set deadline", err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		return "", false, plain("send request", err)
	}
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return "", false, plain("read answer", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", false, plain("read answer", err)
	}
	if resp.StatusCode != http.StatusOK {
		return "", false, errors.New("read answer: status " + strconv.Itoa(resp.StatusCode))
	}
	return string(body), !resp.Close, nil
}

// plain takes addresses out of a network error, so that equal failures of many
// connections are counted together.
func plain(op string, err error) error {
	var timeout interface{ Timeout() bool }
	var errno syscall.Errno
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("%s: %w", op, errTimeout)
	case errors.As(err, &errno):
		return fmt.Errorf("%s: %w", op, errno)
	}
	return fmt.Errorf("%s: %w", op, err)
}

// errTimeout is the failure of a client that lost patience.
var errTimeout = errors.New("no answer in time")
