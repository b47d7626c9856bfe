package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// TestKeepProxies: with --keep-proxies a restart loses no request.
func TestKeepProxies(t *testing.T) {
	s := start(t, simple(), "--keep-proxies")
	load := s.load(t, "only"+domain, 4)
	kept := envoys(t, s.PID())
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	s.inspect(t)
	s.again(t)
	s.must(t, s.WaitReady)
	if sent := s.metric(t, "gatehouse_xds_resources_sent_total") + s.metric(t, "gatehouse_xds_bytes_sent_total"); sent != 0 {
		t.Errorf("the restart sent resources that the proxy had: %v", sent)
	}
	s.write(t, "route.yaml", route("only", "http", "only"+domain, `  - `+to("green")))
	s.eventually(t, "the adopted Envoy follows edits", func(ctx context.Context) error {
		return s.try(ctx, "only"+domain, try{from: "green"})
	})
	load.stop()
	if failed := load.failed.Load(); failed > 0 {
		t.Errorf("%d of %d requests failed over the restart: %v", failed, load.answered.Load()+failed, load.firstError())
	}
	s.end(t)
	for _, pid := range kept {
		if err := syscall.Kill(pid, 0); err != nil {
			t.Errorf("Envoy %d did not outlive Gatehouse", pid)
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	waitGone(t, kept)
}

// metric returns the sum of a metric over its labels, 0 when it has no series yet.
func (s *stage) metric(t *testing.T, name string) float64 {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Metrics+"/metrics", nil))(t)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	sum, streams := 0.0, false
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		series, value, _ := strings.Cut(lines.Text(), " ")
		metric, _, _ := strings.Cut(series, "{")
		if metric == name {
			sum += must(strconv.ParseFloat(value, 64))(t)
		}
		streams = streams || metric == "gatehouse_xds_streams"
	}
	if !streams {
		t.Error("these are not the metrics of gatehouse")
	}
	return sum
}

// TestListenersComeAndGo: a listener that is added serves, one that moves leaves
// its old port, and with the Gateway goes its Envoy.
func TestListenersComeAndGo(t *testing.T) {
	s := start(t, simple())
	second, third := port(t), port(t)
	answers := func(port uint16) {
		t.Helper()
		s.eventually(t, fmt.Sprintf("port %d answers", port), func(ctx context.Context) error {
			got, err := rig.Do(ctx, rig.Request{Port: port, Host: "only" + domain})
			if err == nil && got.Status != 404 {
				err = fmt.Errorf("status %d", got.Status)
			}
			return err
		})
	}
	refuses := func(port uint16) {
		t.Helper()
		s.eventually(t, fmt.Sprintf("port %d refuses", port), func(ctx context.Context) error {
			if !rig.Busy(ctx, port) {
				return nil
			}
			return errors.New("it is in use")
		})
	}
	with := func(port uint16) string {
		return gateway("edge", httpListener+fmt.Sprintf("  - {name: more, protocol: HTTP, port: %d}\n", port))
	}
	s.write(t, "gateway.yaml", with(second))
	answers(second)
	s.write(t, "gateway.yaml", with(third))
	answers(third)
	refuses(second)
	if err := s.try(t.Context(), "only"+domain, try{from: "red"}); err != nil {
		t.Error(err)
	}
	gone := envoys(t, s.PID())
	s.remove(t, "gateway.yaml")
	refuses(s.http)
	waitGone(t, gone)
	s.waitState(t, "httproute", "e2e/only", verdict.Excluded)
}

// TestDrain: SIGTERM lets a request finish that is on its way.
func TestDrain(t *testing.T) {
	s := start(t, simple())
	arrived := make(chan error, 1)
	go func() {
		got, err := rig.Do(t.Context(), rig.Request{Port: s.http, Host: "only" + domain, Header: http.Header{"X-Answer-Delay": {"1s"}}})
		if err == nil && got.Answer.Backend != "red" {
			err = fmt.Errorf("%d %s", got.Status, got.Body)
		}
		arrived <- err
	}()
	s.eventually(t, "the request is at the backend", func(context.Context) error {
		if s.red.Delayed() == 0 {
			return errors.New("not yet")
		}
		return nil
	})
	s.end(t)
	if err := <-arrived; err != nil {
		t.Errorf("the request was cut off: %v", err)
	}
}

// TestRestartKeepsGenerations: the state directory remembers what was counted.
func TestRestartKeepsGenerations(t *testing.T) {
	s := start(t, simple())
	for _, backend := range []string{"green", "blue", "red", "green"} {
		s.write(t, "route.yaml", route("only", "http", "only"+domain, `  - `+to(backend)))
		s.eventually(t, "answers are from "+backend, func(ctx context.Context) error {
			return s.try(ctx, "only"+domain, try{from: backend})
		})
	}
	before := s.waitState(t, "httproute", "e2e/only", verdict.Serving)
	if before.Object.Generation < 2 {
		t.Errorf("generation %d after four edits", before.Object.Generation)
	}
	s.end(t)
	s.again(t)
	s.must(t, s.WaitReady)
	after := s.waitState(t, "httproute", "e2e/only", verdict.Serving)
	if before.Object != after.Object {
		t.Errorf("before the restart %+v, after it %+v", before.Object, after.Object)
	}
}

// TestReadyNamesAddresses: what a person or a script waits for.
func TestReadyNamesAddresses(t *testing.T) {
	s := start(t, simple())
	s.eventually(t, "it says ready and where", func(context.Context) error {
		said := s.Output()
		if !strings.Contains(said, "ready in ") || !strings.Contains(said, rig.URL("http", s.http)) {
			return errors.New("not yet")
		}
		return nil
	})
}

// TestClosedFeature: the verdict names the switch.
func TestClosedFeature(t *testing.T) {
	s := prepare(t)
	for name, text := range simple() {
		s.write(t, name, text)
	}
	s.write(t, "outside.yaml", `apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: outside, namespace: e2e}
spec: {type: ExternalHostname, externalHostname: {hostname: localhost}, port: {number: @BLUE@}}
`)
	s.run(t, "--features-xbackend=false")
	s.must(t, s.WaitReady)
	if step := s.waitReason(t, "xbackend", "e2e/outside", "FeatureDisabled"); !strings.Contains(step.Message, "features.xbackend") {
		t.Errorf("the step does not name the switch: %+v", step)
	}
}

// TestExpiredCertificateServes: certificates rotate outside of the user's control,
// so an old one is better than none.
func TestExpiredCertificateServes(t *testing.T) {
	s := prepare(t)
	old := must(s.ca.Leaf(tlsutil.From(time.Now().Add(-48*time.Hour), 24*time.Hour), "a.e2e.test"))(t)
	s.write(t, "base.yaml", base)
	s.write(t, "gateway.yaml", gateway("edge", "  - {name: a, protocol: HTTPS, port: @HTTPS@, tls: {certificateRefs: [{name: a-tls}]}}\n"))
	s.write(t, "a.yaml", secretYAML("a-tls", old.Cert, old.Key))
	s.write(t, "r.yaml", route("r", "a", "a.e2e.test", `  - `+to("red")))
	s.run(t)
	s.must(t, s.WaitReady)
	if _, err := s.handshake(t.Context(), "a.e2e.test"); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("the handshake says %v, want an expired certificate", err)
	}
	s.eventually(t, "the warning is there", func(ctx context.Context) error {
		return s.explains(ctx, "expired", "secret e2e/a-tls", "gateway e2e/edge")
	})
}

// TestNameServerThatDropsPackets: a name that never resolves holds back its own
// route for a while, and no other.
func TestNameServerThatDropsPackets(t *testing.T) {
	s := prepare(t)
	silent := deaf(t)
	resolv := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(resolv, []byte("nameserver "+silent+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, text := range simple() {
		s.write(t, name, text)
	}
	s.binary = elsewhere(t, s.binary, resolv)
	s.run(t)
	s.must(t, s.WaitReady)
	load := s.load(t, "only"+domain, 2)
	s.write(t, "lost.yaml", `apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: lost, namespace: e2e}
spec: {type: ExternalHostname, externalHostname: {hostname: nowhere.e2e.test}, port: {number: 80}}
---
`+route("lost", "http", "lost"+domain, `  - backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: lost}]`))
	for n, backend := range []string{"green", "blue", "red", "green", "blue"} {
		s.tell(t, story{
			name: "neighbour", host: "neighbour", rules: `  - ` + to(backend) + fmt.Sprintf("\n    filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Mark, value: \"%d\"}]}}]", n),
			tries: []try{{from: backend, marks: strconv.Itoa(n)}},
		})
	}
	s.waitReason(t, "httproute", "e2e/lost", "WarmTimedOut")
	s.waitReason(t, "xbackend", "e2e/lost", "WarmTimedOut")
	s.eventually(t, "the route with the lost name answers 503", func(ctx context.Context) error {
		return s.try(ctx, "lost"+domain, try{status: 503})
	})
	load.stop()
	if failed := load.failed.Load(); failed > 0 {
		t.Errorf("%d requests failed meanwhile: %v", failed, load.firstError())
	}
}
