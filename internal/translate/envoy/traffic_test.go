package envoy

import (
	"context"
	"crypto/tls"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/backend"
	"github.com/gatehouse-proxy/gatehouse/test/envoytest"
)

// traffic is a real Envoy that serves a world.
type traffic struct {
	t     testing.TB
	envoy *envoytest.Envoy
}

// serve translates a world without failures and runs it.
func serve(t testing.TB, w world) traffic {
	t.Helper()
	got := translate(t, w)
	for _, f := range got.failures {
		t.Fatalf("%s %s: %s %s", f.Type, f.Name, f.Field, f.Message)
	}
	return serveAs(t, got)
}

func serveAs(t testing.TB, got translated) traffic {
	t.Helper()
	return traffic{t, envoytest.Start(t, envoytest.Static(t, string(edge), true, got.resources...))}
}

// backends are the addresses of running backends by name.
func backends(t testing.TB, names ...string) map[string]netip.AddrPort {
	t.Helper()
	out := map[string]netip.AddrPort{}
	for _, name := range names {
		b, err := backend.StartHTTP(t.Context(), name, "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close() })
		out[name] = b.Addr
	}
	return out
}

// question is one request; the zero value asks for "/" of "shop.example".
type question struct {
	Method, Host, Path string
	Header             http.Header
	Body               string
}

// reply is what came back.
type reply struct {
	Status   int
	Location string
	Header   http.Header
	// Backend is set when a backend answered.
	backend.Answer
}

// ask sends a request to the plain HTTP port. Redirects are not followed, and
// the path is sent as it is.
func (f traffic) ask(q question) reply {
	f.t.Helper()
	return f.askAt(f.envoy.Address(httpPort), nil, q)
}

// askAt sends a request to an address, over TLS when a configuration is given.
func (f traffic) askAt(address string, secure *tls.Config, q question) reply {
	f.t.Helper()
	got, err := tryAt(f.t.Context(), address, secure, q)
	if err != nil {
		f.t.Fatalf("ask %+v: %v", q, err)
	}
	return got
}

func tryAt(ctx context.Context, address string, secure *tls.Config, q question) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := newRequest(ctx, q, secure != nil)
	if err != nil {
		return reply{}, err
	}
	transport := &http.Transport{
		TLSClientConfig: secure, ForceAttemptHTTP2: secure != nil, DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		},
	}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return reply{}, err
	}
	answer, _ := backend.ReadAnswer(body)
	return reply{Status: response.StatusCode, Location: response.Header.Get("Location"), Header: response.Header, Answer: answer}, nil
}

func newRequest(ctx context.Context, q question, secure bool) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, q.Method, "http://shop.example/", strings.NewReader(q.Body))
	if err != nil {
		return nil, err
	}
	if secure {
		request.URL.Scheme = "https"
	}
	if q.Path != "" {
		request.URL.Opaque = q.Path
	}
	if q.Host != "" {
		request.Host = q.Host
	}
	maps.Copy(request.Header, q.Header)
	return request, nil
}
