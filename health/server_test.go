package health

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/internal/netns"
)

var web, other = Name{"demo", "web"}, Name{"demo", "other"}

const soon = 10 * time.Second // far more than anything here takes

// scene is a running server in a network namespace of its own.
type scene struct {
	*Server
	t         *testing.T
	ns        *netns.Namespace
	unhealthy atomic.Bool
	stop      func()

	mu       sync.Mutex
	failures []failure
}

type failure struct {
	service Name
	err     error
}

func newScene(t *testing.T) *scene {
	t.Helper()
	ns := netns.New(t)
	s := &scene{t: t, ns: ns}
	s.Server = New(Options{
		Healthy: func() bool { return !s.unhealthy.Load() },
		OnFailure: func(service Name, err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.failures = append(s.failures, failure{service, err})
		},
		FirstRetry: 5 * time.Millisecond, LongestRetry: 20 * time.Millisecond,
		Listen: s.listen,
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	t.Cleanup(s.stop)
	return s
}

// listen opens a listener in the scene's namespace.
func (s *scene) listen(ctx context.Context, network, address string) (l net.Listener, err error) {
	err = s.ns.Do(func() error {
		l, err = new(net.ListenConfig).Listen(ctx, network, address)
		return err
	})
	return l, err
}

func (s *scene) dial(ctx context.Context, network, address string) (c net.Conn, err error) {
	err = s.ns.Do(func() error {
		c, err = new(net.Dialer).DialContext(ctx, network, address)
		return err
	})
	return c, err
}

// client makes a new connection for every request.
func (s *scene) client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: s.dial, DisableKeepAlives: true}, Timeout: soon}
}

func (s *scene) told() []failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]failure(nil), s.failures...)
}

// listens waits until the port of a Service listens on exactly these.
func (s *scene) listens(name Name, at ...string) {
	s.t.Helper()
	var want []netip.AddrPort
	for _, a := range at {
		want = append(want, netip.MustParseAddrPort(a))
	}
	eventually(s.t, func() error {
		if got := s.Listening(name); fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("%s listens on %v, not on %v; failures: %v", name, got, want, s.told())
		}
		return nil
	})
}

// refused checks that nothing listens on an address.
func (s *scene) refused(address string) {
	s.t.Helper()
	c, err := s.dial(s.t.Context(), "tcp", address)
	if err == nil {
		_ = c.Close()
	}
	require.ErrorIs(s.t, err, syscall.ECONNREFUSED)
}

// answer is what a request came to.
type answer struct {
	status int
	header http.Header
	body   string
}

func (s *scene) ask(method, url string) answer {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, url, http.NoBody)
	require.NoError(s.t, err)
	resp, err := s.client().Do(req)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	return answer{resp.StatusCode, resp.Header, string(text)}
}

func eventually(t *testing.T, check func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(soon); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	require.NoError(t, err)
}

// ipv4 is a spec with local endpoints in IPv4 only.
func ipv4(port uint16, local int) Spec {
	return Spec{Port: port, IPv4: Family{Served: true, LocalEndpoints: local}}
}

func TestAnswerSaysHowManyEndpointsAreHere(t *testing.T) {
	for _, c := range []struct {
		name      string
		local     int
		unhealthy bool
		status    int
		body      string
	}{
		{
			name: "endpoints here, proxy healthy", local: 2, status: 200,
			body: `{"service":{"namespace":"demo","name":"web"},"localEndpoints":2,"serviceProxyHealthy":true}`,
		},
		{
			name: "no endpoint here", local: 0, status: 503,
			body: `{"service":{"namespace":"demo","name":"web"},"localEndpoints":0,"serviceProxyHealthy":true}`,
		},
		{
			name: "endpoints here, proxy behind: the weight is real all the same", local: 3, unhealthy: true, status: 503,
			body: `{"service":{"namespace":"demo","name":"web"},"localEndpoints":3,"serviceProxyHealthy":false}`,
		},
		{
			name: "neither", local: 0, unhealthy: true, status: 503,
			body: `{"service":{"namespace":"demo","name":"web"},"localEndpoints":0,"serviceProxyHealthy":false}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			s.unhealthy.Store(c.unhealthy)
			s.Set(web, ipv4(32080, c.local))
			s.listens(web, "0.0.0.0:32080")
			for _, path := range []string{"/", "/healthz", "/any/../thing//?q=1", "/favicon.ico"} {
				for _, method := range []string{"GET", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PURGE"} {
					got := s.ask(method, "http://127.0.0.1:32080"+path)
					require.Equal(t, c.status, got.status, "%s %s", method, path)
					require.JSONEq(t, c.body, got.body)
					require.Equal(t, []string{"application/json"}, got.header["Content-Type"])
					require.Equal(t, []string{"nosniff"}, got.header["X-Content-Type-Options"])
					require.Equal(t, []string{fmt.Sprint(c.local)}, got.header["X-Load-Balancing-Endpoint-Weight"])
				}
			}
			head := s.ask("HEAD", "http://127.0.0.1:32080/")
			require.Equal(t, c.status, head.status)
			require.Equal(t, fmt.Sprint(c.local), head.header.Get(WeightHeader))
		})
	}
}

// TestEveryRequestTargetIsAnswered sends what HTTP clients do not: targets that
// are no paths, which servers like to answer by themselves.
func TestEveryRequestTargetIsAnswered(t *testing.T) {
	s := newScene(t)
	s.Set(web, ipv4(32080, 1))
	s.listens(web, "0.0.0.0:32080")
	for _, line := range []string{"OPTIONS * HTTP/1.1", "CONNECT lb:80 HTTP/1.1", "GET http://lb/x HTTP/1.1", "GET / HTTP/1.0"} {
		t.Run(line, func(t *testing.T) {
			c, err := s.dial(t.Context(), "tcp", "127.0.0.1:32080")
			require.NoError(t, err)
			defer c.Close()
			_, err = fmt.Fprintf(c, "%s\r\nHost: lb\r\n\r\n", line)
			require.NoError(t, err)
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			require.NoError(t, err)
			defer resp.Body.Close()
			text, err := io.ReadAll(io.LimitReader(resp.Body, resp.ContentLength))
			require.NoError(t, err)
			require.Equal(t, 200, resp.StatusCode)
			require.Contains(t, string(text), `"localEndpoints":1`)
		})
	}
}

func TestPortsFollowTheServices(t *testing.T) {
	s := newScene(t)
	s.Sync(map[Name]Spec{web: ipv4(32080, 1), other: ipv4(32081, 0)})
	s.listens(web, "0.0.0.0:32080")
	s.listens(other, "0.0.0.0:32081")
	require.Equal(t, 503, s.ask("GET", "http://127.0.0.1:32081/").status)

	// A new count is in force at once, on the connection that is there too.
	s.Set(web, ipv4(32080, 0))
	require.Equal(t, 503, s.ask("GET", "http://127.0.0.1:32080/").status)

	// The ports change hands in one step.
	s.Sync(map[Name]Spec{web: ipv4(32081, 1), other: ipv4(32080, 0)})
	s.listens(web, "0.0.0.0:32081")
	s.listens(other, "0.0.0.0:32080")
	require.Contains(t, s.ask("GET", "http://127.0.0.1:32081/").body, `"name":"web"`)

	s.Sync(map[Name]Spec{web: ipv4(32082, 1)})
	s.listens(web, "0.0.0.0:32082")
	s.listens(other)
	s.refused("127.0.0.1:32080")
	s.refused("127.0.0.1:32081")

	s.Delete(web)
	s.Set(other, Spec{}) // no port: as good as not there
	s.listens(web)
	s.refused("127.0.0.1:32082")
	require.Empty(t, s.told())

	s.Set(web, ipv4(32080, 1))
	s.listens(web, "0.0.0.0:32080")
	s.stop()
	s.refused("127.0.0.1:32080")
	require.Empty(t, s.Listening(web))
}

func TestFamiliesAreApart(t *testing.T) {
	s := newScene(t)
	s.Set(web, Spec{Port: 32080, IPv4: Family{Served: true, LocalEndpoints: 2}, IPv6: Family{Served: true}})
	s.listens(web, "0.0.0.0:32080", "[::]:32080")
	require.Equal(t, 200, s.ask("GET", "http://127.0.0.1:32080/").status)
	got := s.ask("GET", "http://[::1]:32080/")
	require.Equal(t, 503, got.status, "its IPv6 endpoints are elsewhere")
	require.Equal(t, "0", got.header.Get(WeightHeader))

	s.Set(web, Spec{Port: 32080, IPv6: Family{Served: true, LocalEndpoints: 1}})
	s.listens(web, "[::]:32080")
	s.refused("127.0.0.1:32080")
	require.Equal(t, 200, s.ask("GET", "http://[::1]:32080/").status)
}

func TestAddressesMayComeLaterAndGo(t *testing.T) {
	s := newScene(t)
	a, b := netip.MustParseAddr("127.0.1.1"), netip.MustParseAddr("127.0.1.2")
	s.SetAddresses([]netip.Addr{a})
	s.Set(web, Spec{Port: 32080, IPv4: Family{true, 1}, IPv6: Family{true, 1}})
	s.listens(web, "127.0.1.1:32080")
	s.refused("127.0.1.2:32080")
	eventually(t, func() error {
		if len(s.told()) != 1 {
			return fmt.Errorf("failures: %v", s.told())
		}
		return nil
	})
	require.ErrorIs(t, s.told()[0].err, ErrNoAddress)
	require.EqualError(t, s.told()[0].err, `listen on [::]:32080 for health checks of service "demo/web": `+
		`no address of this node is allowed to; the addresses for node ports hold none of this family that an interface has`)

	// What stays is not disturbed: a connection through it lives on.
	keep := &http.Client{Transport: &http.Transport{DialContext: s.dial}}
	defer keep.CloseIdleConnections()
	get := func() (reused bool) {
		trace := &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { reused = c.Reused }}
		req, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodGet, "http://127.0.1.1:32080/", http.NoBody)
		require.NoError(t, err)
		resp, err := keep.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		require.Equal(t, 200, resp.StatusCode)
		return reused
	}
	require.False(t, get())
	s.SetAddresses([]netip.Addr{b, a, a, netip.IPv6Loopback()})
	s.listens(web, "127.0.1.1:32080", "127.0.1.2:32080", "[::1]:32080")
	require.True(t, get())

	s.SetAddresses([]netip.Addr{b})
	s.listens(web, "127.0.1.2:32080")
	s.refused("127.0.1.1:32080")

	// All addresses hold every other one of the family.
	s.SetAddresses([]netip.Addr{b, netip.IPv4Unspecified(), netip.IPv6Unspecified()})
	s.listens(web, "0.0.0.0:32080", "[::]:32080")
	require.Equal(t, 200, s.ask("GET", "http://127.0.9.9:32080/").status)
	s.SetAddresses([]netip.Addr{b})
	s.listens(web, "127.0.1.2:32080")
	s.SetAddresses(nil)
	s.listens(web)
}

// TestAddressThatNoInterfaceHasYet gives an address before the kernel has it.
func TestAddressThatNoInterfaceHasYet(t *testing.T) {
	s := newScene(t)
	s.SetAddresses([]netip.Addr{netip.MustParseAddr("192.0.2.11"), netip.MustParseAddr("127.0.0.1")})
	s.Set(web, ipv4(32080, 1))
	s.listens(web, "127.0.0.1:32080")
	eventually(t, func() error {
		if len(s.told()) == 0 {
			return fmt.Errorf("no failure was told")
		}
		return nil
	})
	require.ErrorIs(t, s.told()[0].err, syscall.EADDRNOTAVAIL)
	s.ns.Run(t, "ip", "address", "add", "192.0.2.11/32", "dev", "lo")
	s.listens(web, "127.0.0.1:32080", "192.0.2.11:32080")
	require.Equal(t, 200, s.ask("GET", "http://192.0.2.11:32080/").status)
}

func TestTakenPortIsReportedOnceAndTriedAgain(t *testing.T) {
	s := newScene(t)
	squatter, err := s.listen(t.Context(), "tcp4", "127.0.0.1:32080")
	require.NoError(t, err)
	s.Sync(map[Name]Spec{web: ipv4(32080, 1), other: ipv4(32081, 1)})
	s.listens(other, "0.0.0.0:32081") // the trouble is web's alone
	eventually(t, func() error {
		if len(s.told()) == 0 {
			return fmt.Errorf("no failure was told")
		}
		return nil
	})
	time.Sleep(100 * time.Millisecond) // several attempts
	require.Len(t, s.told(), 1)
	f := s.told()[0]
	require.Equal(t, web, f.service)
	require.ErrorIs(t, f.err, syscall.EADDRINUSE)
	require.EqualError(t, f.err, `listen on 0.0.0.0:32080 for health checks of service "demo/web": address already in use: `+
		`another program on this node has it; end that, or give the service another healthCheckNodePort`)

	require.NoError(t, squatter.Close()) // and nobody calls Sync
	s.listens(web, "0.0.0.0:32080")
	require.Equal(t, 200, s.ask("GET", "http://127.0.0.1:32080/").status)

	// A later failure is a new one.
	s.Set(web, ipv4(32082, 1))
	s.listens(web, "0.0.0.0:32082")
	squatter, err = s.listen(t.Context(), "tcp4", "127.0.0.1:32080")
	require.NoError(t, err)
	defer squatter.Close()
	s.Set(web, ipv4(32080, 1))
	eventually(t, func() error {
		if len(s.told()) != 2 {
			return fmt.Errorf("failures: %v", s.told())
		}
		return nil
	})
}

func TestPortThatTwoServicesClaim(t *testing.T) {
	s := newScene(t)
	s.Set(web, ipv4(32080, 1))
	s.listens(web, "0.0.0.0:32080")
	s.Set(other, ipv4(32080, 0))
	eventually(t, func() error {
		if len(s.told()) == 0 {
			return fmt.Errorf("no failure was told")
		}
		return nil
	})
	require.Equal(t, other, s.told()[0].service)
	require.EqualError(t, s.told()[0].err, `listen on 0.0.0.0:32080 for health checks of service "demo/other": address already in use: `+
		`service "demo/web" has it; give one of them another healthCheckNodePort`)
	require.Equal(t, 200, s.ask("GET", "http://127.0.0.1:32080/").status, "who has it keeps it")
	s.Delete(web)
	s.listens(other, "0.0.0.0:32080")
	require.Equal(t, 503, s.ask("GET", "http://127.0.0.1:32080/").status)
}

// TestListenerThatBreaksIsOpenedAgain closes a listener behind the server's back.
func TestListenerThatBreaksIsOpenedAgain(t *testing.T) {
	var opened sync.Map
	s := New(Options{FirstRetry: time.Millisecond, Listen: func(ctx context.Context, network, address string) (net.Listener, error) {
		l, err := new(net.ListenConfig).Listen(ctx, network, "127.0.0.1:0")
		opened.Store(address, l)
		return l, err
	}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	s.Set(web, ipv4(32080, 1))
	listener := func() net.Listener {
		l, ok := opened.Load("0.0.0.0:32080")
		if !ok {
			return nil
		}
		return l.(net.Listener)
	}
	eventually(t, func() error {
		if len(s.Listening(web)) == 0 {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	first := listener()
	require.NoError(t, first.Close())
	eventually(t, func() error {
		if listener() == first {
			return fmt.Errorf("not opened again")
		}
		return nil
	})
	cancel()
	require.NoError(t, <-ended)
}

// TestRequestsThatRaceWithTheEnd lets clients ask while the port opens and
// closes: an answer is whole, or there is none.
func TestRequestsThatRaceWithTheEnd(t *testing.T) {
	s := newScene(t)
	var asked, answered atomic.Int64
	var over atomic.Bool
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for !over.Load() {
				asked.Add(1)
				got := s.exchange()
				if got == nil {
					continue // refused or reset, as it may be
				}
				answered.Add(1)
				whole := strings.HasSuffix(got.body, `"serviceProxyHealthy":true}`+"\n") && got.header.Get(WeightHeader) != ""
				if !whole || (got.status == http.StatusOK) != strings.Contains(got.body, `"localEndpoints":1`) {
					t.Errorf("%+v", *got)
				}
			}
		})
	}
	for range 150 {
		s.Set(web, ipv4(32080, 1))
		eventually(t, func() error {
			if len(s.Listening(web)) == 0 {
				return fmt.Errorf("not open: %v", s.told())
			}
			return nil
		})
		time.Sleep(time.Millisecond)
		s.Delete(web)
		time.Sleep(200 * time.Microsecond)
	}
	over.Store(true)
	clients.Wait()
	require.Positive(t, answered.Load(), "of %d requests none met an open port", asked.Load())
	t.Logf("%d requests, %d answers", asked.Load(), answered.Load())
}

// exchange asks once over a connection of its own. It returns nil when no byte
// of an answer came, and whatever came of one otherwise.
func (s *scene) exchange() *answer {
	c, err := s.dial(s.t.Context(), "tcp", "127.0.0.1:32080")
	if err != nil {
		return nil
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: lb\r\nConnection: close\r\n\r\n"); err != nil {
		return nil
	}
	r := bufio.NewReader(c)
	if _, err := r.Peek(1); err != nil {
		return nil
	}
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return &answer{body: "broken: " + err.Error()}
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return &answer{resp.StatusCode, resp.Header, string(text)}
}

func TestEndWaitsForNobodyWhoIsSilent(t *testing.T) {
	s := newScene(t)
	s.Set(web, ipv4(32080, 1))
	s.listens(web, "0.0.0.0:32080")
	c, err := s.dial(t.Context(), "tcp", "127.0.0.1:32080")
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "GET / HT")
	require.NoError(t, err)
	start := time.Now()
	s.stop()
	require.Less(t, time.Since(start), 3*time.Second)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(soon)))
	_, err = c.Read(make([]byte, 1))
	require.Error(t, err, "the connection is closed")
}

func TestServerRunsOnceAtATime(t *testing.T) {
	s := newScene(t)
	s.Set(web, ipv4(32080, 1))
	s.listens(web, "0.0.0.0:32080")
	require.EqualError(t, s.Run(t.Context()), "run health check server: it runs already; a server is run once at a time")
	s.stop()
	s.refused("127.0.0.1:32080")

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	s.listens(web, "0.0.0.0:32080")
	cancel()
	require.NoError(t, <-ended)
}
