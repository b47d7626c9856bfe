package observe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestEveryMetricIsServedUnderItsName(t *testing.T) {
	m := NewMetrics()
	m.Objects.WithLabelValues("HTTPRoute", "Serving").Set(3)
	m.ChangeAcknowledged.WithLabelValues("HTTPRoute").Observe(0.009)
	m.FunctionsRun.WithLabelValues("routes").Inc()
	m.Rounds.WithLabelValues("accepted").Inc()
	m.ResourcesSent.WithLabelValues("Listener").Inc()
	m.Nacks.WithLabelValues("Listener").Inc()
	m.CertificateExpiry.WithLabelValues("shop/tls").Set(1)
	m.Admissions.WithLabelValues("admitted").Inc()
	m.Trials.WithLabelValues("accepted").Inc()
	m.OldestRetained.WithLabelValues("Secret").Set(60)
	m.ValidatorVerdicts.WithLabelValues("proving Envoy", "accepted").Inc()
	m.ValidatorSeconds.WithLabelValues("proving Envoy").Observe(0.002)
	m.ValidatorUp.WithLabelValues("proving Envoy").Set(1)

	page := get(t, m.Handler(), "/metrics")
	for _, metric := range m.Documented() {
		if !strings.Contains(page, "# TYPE "+metric.Name+" "+metric.Type+"\n") {
			t.Errorf("%s is not served as %s", metric.Name, metric.Type)
		}
	}
	for _, want := range []string{
		`gatehouse_objects{kind="HTTPRoute",state="Serving"} 3`,
		`gatehouse_change_acknowledged_seconds_bucket{kind="HTTPRoute",le="0.01"} 1`,
		`gatehouse_change_acknowledged_seconds_bucket{kind="HTTPRoute",le="0.005"} 0`,
		"gatehouse_xds_streams 0", "go_goroutines ", "process_open_fds ",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestMetricNames holds names to https://prometheus.io/docs/practices/naming.
func TestMetricNames(t *testing.T) {
	for _, m := range slices.Concat(NewMetrics().Documented(), NewRouterMetrics().Documented()) {
		isTotal := strings.HasSuffix(m.Name, "_total")
		if !regexp.MustCompile(`^gatehouse(_[a-z]+)+$`).MatchString(m.Name) || isTotal != (m.Type == "counter") {
			t.Errorf("%s is no name for a %s", m.Name, m.Type)
		}
		if !strings.HasSuffix(m.Help, ".") || m.Watch == "" {
			t.Errorf("%s: help %q, watch %q", m.Name, m.Help, m.Watch)
		}
	}
}

func TestMetricsOfTwoInstancesAreApart(t *testing.T) {
	a, b := NewMetrics(), NewMetrics()
	a.BytesSent.Add(7)
	if page := get(t, b.Handler(), "/metrics"); !strings.Contains(page, "gatehouse_xds_bytes_sent_total 0") {
		t.Error("what one counted is in the other")
	}
}

func get(t *testing.T, h http.Handler, path string) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	if w.Code != http.StatusOK {
		t.Fatalf("GET %s: %d %s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

func TestSecretsNeverReachTheLog(t *testing.T) {
	secret := Secret("hunter2")
	for _, asJSON := range []bool{false, true} {
		var b bytes.Buffer
		log := NewLogger(&b, LogOptions{JSON: asJSON})
		log.Info("pair", "key", secret, "in", struct{ Key Secret }{secret}, "list", []Secret{secret},
			"group", slog.GroupValue(slog.Any("key", secret)))
		if !strings.Contains(b.String(), redacted) || strings.Contains(b.String(), "hunter2") {
			t.Errorf("JSON %v: %s", asJSON, b.String())
		}
	}
	for _, verb := range []string{"%s", "%v", "%+v", "%#v", "%q", "%x", "%d"} {
		if text := fmt.Sprintf(verb, secret); text != redacted {
			t.Errorf("%s prints %q", verb, text)
		}
	}
	if text, err := json.Marshal(secret); err != nil || string(text) != `"redacted"` {
		t.Errorf("JSON %s, %v", text, err)
	}
}

// A duration reads the same in text and in JSON.
func TestLogDurations(t *testing.T) {
	for _, c := range []struct {
		json bool
		want string
	}{{false, "took=1.5s"}, {true, `"took":"1.5s"`}} {
		var out strings.Builder
		NewLogger(&out, LogOptions{JSON: c.json}).Info("drained", KeyTook, 1500*time.Millisecond)
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("got %s, want %s", out.String(), c.want)
		}
	}
}

func TestLogLevels(t *testing.T) {
	for level, want := range map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError, "loud": slog.LevelInfo,
	} {
		log := NewLogger(io.Discard, LogOptions{Level: level})
		if !log.Enabled(t.Context(), want) || log.Enabled(t.Context(), want-1) {
			t.Errorf("level %q does not start at %v", level, want)
		}
	}
}

func TestPulse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pulse
		if err := p.Live(time.Now(), time.Second); err == nil {
			t.Error("a loop that never turned is live")
		}
		p.Beat(time.Now())
		time.Sleep(time.Second)
		if err := p.Live(time.Now(), time.Second); err != nil {
			t.Errorf("after the limit exactly: %v", err)
		}
		time.Sleep(time.Millisecond)
		if err := p.Live(time.Now(), time.Second); err == nil || err.Error() != "the loop last turned 1.001s ago, more than 1s" {
			t.Errorf("after more than the limit: %v", err)
		}
	})
}
