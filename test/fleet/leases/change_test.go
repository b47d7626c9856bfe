package leases

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/cluster"
)

// waiting returns nil while somebody waits for a proxy.
func (p *process) waiting(ctx context.Context) error {
	_, after, _ := strings.Cut(p.log.String(), " metrics=")
	at, _, _ := strings.Cut(after, "\n")
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSpace(at)+"/metrics", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && !strings.Contains(string(text), "proxy_operator_lease_waiters 1") {
		err = errors.New("nobody waits")
	}
	return err
}

// TestAnEditOfASecretIsInTheNextLease, and ends none.
func TestAnEditOfASecretIsInTheNextLease(t *testing.T) {
	f := newFiles(t)
	f.write("p.yaml", external("crawl", "a", accepts(t), ", auth: {secretRef: {name: px}}"))
	f.write("s.yaml", secret("px", "me"))
	p := f.run()
	a := p.eventually(201, "POST", "/v1/leases", `{}`)
	if a.Proxy.Username != "me" || a.Proxy.Password != "hunter2" {
		t.Errorf("credentials %q %q", a.Proxy.Username, a.Proxy.Password)
	}
	f.write("s.yaml", secret("px", "you"))
	cluster.Until(t, eventually, "the next lease has the other user", func(context.Context) error {
		b, err := p.ask("POST", "/v1/leases", `{}`, "") //nolint:contextcheck // it has the test's
		if err == nil && b.Proxy.Username != "you" {
			err = fmt.Errorf("%s", b.Text)
		}
		return err
	})
	p.must(200, "PUT", "/v1/leases/"+a.LeaseID, `{}`)
}

// TestADeletedProxy ends its leases; that of another namespace is nobody else's.
func TestADeletedProxy(t *testing.T) {
	f := newFiles(t)
	f.write("a.yaml", external("crawl", "a", accepts(t), ""))
	f.write("b.yaml", external("other", "b", accepts(t), ""))
	p := f.run()
	a := p.eventually(201, "POST", "/v1/leases", `{"namespace":"crawl"}`)
	b := p.eventually(201, "POST", "/v1/leases", `{"namespace":"other"}`)
	if a.Proxy.Name != "a" || b.Proxy.Name != "b" {
		t.Errorf("leased %s and %s", a.Proxy.Name, b.Proxy.Name)
	}
	if none := p.must(409, "POST", "/v1/leases", `{"namespace":"none"}`); none.Considered != 0 {
		t.Errorf("%s", none.Text)
	}
	f.write("a.yaml", "# nothing\n")
	if gone := p.eventually(409, "PUT", "/v1/leases/"+a.LeaseID, `{}`); gone.Error != "proxy_gone" {
		t.Errorf("%s", gone.Text)
	}
	p.must(200, "PUT", "/v1/leases/"+b.LeaseID, `{}`)
}

// managed is a Proxy of provider process, with credentials of each lease's own.
func managed(port int) string {
	return "apiVersion: egress.gatehouse.dev/v1alpha1\nkind: Proxy\nmetadata: {name: a, namespace: crawl}\n" +
		"spec: {mode: Managed, provider: process, auth: {secretRef: {name: px}}, lifecycle: {drainTimeout: 4s}, endpoint: {port: " + strconv.Itoa(port) + "}, " + often + "}\n---\n" +
		"apiVersion: v1\nkind: Secret\nmetadata: {name: px, namespace: crawl}\nstringData: {lease-key: \"" + strings.Repeat("k", 40) + "\"}\n"
}

// TestARealProxyIsProbedAndLeased by credentials that end with the lease; when it is
// replaced, that waits for its leases, but not for ever, and they end.
func TestARealProxyIsProbedAndLeased(t *testing.T) {
	target := site(t)
	f := newFiles(t)
	f.write("p.yaml", managed(3128))
	p := f.run("--process-allow-destinations=127.0.0.0/8", "--health-check-url="+target, "--forward-binary="+filepath.Join(programs, "gatehouse-forward"))
	t.Cleanup(func() { endInstances(t, filepath.Join(f.dir, "state")) })
	a := p.eventually(201, "POST", "/v1/leases", `{"ttlSeconds":600}`)
	if got := through(t, a.Proxy.URL, target); got != http.StatusNoContent {
		t.Errorf("through the leased proxy %d", got)
	}
	if got := through(t, strings.Replace(a.Proxy.URL, a.Proxy.Password, "wrong", 1), target); got != http.StatusProxyAuthRequired {
		t.Errorf("with another password %d", got)
	}
	f.write("p.yaml", managed(3129))
	if none := p.eventually(409, "POST", "/v1/leases", `{}`); none.Unhealthy != 1 {
		t.Errorf("while it drains: %s", none.Text)
	}
	p.must(200, "PUT", "/v1/leases/"+a.LeaseID, `{"ttlSeconds":600}`) // what there is goes on
	if gone := p.eventually(409, "PUT", "/v1/leases/"+a.LeaseID, `{"ttlSeconds":600}`); gone.Error != "proxy_gone" {
		t.Errorf("%s", gone.Text)
	}
	b := p.eventually(201, "POST", "/v1/leases", `{}`)
	if got := through(t, b.Proxy.URL, target); got != http.StatusNoContent || !strings.HasSuffix(b.Proxy.URL, ":3129") {
		t.Errorf("through the new one at %s: %d", b.Proxy.URL, got)
	}
}

// site answers 204.
func site(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return "http://" + l.Addr().String()
}

// through asks a URL by a proxy, and returns the status.
func through(t *testing.T, proxy, target string) int {
	t.Helper()
	u, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), eventually)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{Proxy: http.ProxyURL(u), DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// endInstances kills the processes that outlive their fleet.
func endInstances(t *testing.T, state string) {
	t.Helper()
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environments {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), "GATEHOUSE_INSTANCE="+state+"/") {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}
