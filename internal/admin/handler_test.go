package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/admin/admintest"
)

// ask returns the answer to a GET of a shop's admin API.
func ask(t *testing.T, path string, edit ...func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	return askOf(t, admintest.Shop(), path, edit...)
}

func askOf(t *testing.T, r *admintest.Reporter, path string, edit ...func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	request.Host = "127.0.0.1:19000"
	for _, e := range edit {
		e(request)
	}
	w := httptest.NewRecorder()
	admin.Handler(admin.Options{Reporter: r, Metrics: "http://127.0.0.1:19001/metrics"}).ServeHTTP(w, request)
	return w
}

func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		path   string
		status int
		want   string // in the body
		not    string // not in the body
	}{
		{"/v1/verdicts", 200, `"name":"blog"`, "null"},
		{"/v1/verdicts?kind=httproutes", 200, `"name":"search"`, `"kind":"Gateway"`},
		{"/v1/verdicts?kind=Mesh", 200, `{"items":[]}`, ""},
		{"/v1/verdicts?state=Rejected&state=Excluded", 200, `"state":"Rejected"`, `"state":"Serving"`},
		{"/v1/verdicts?state=rejectd", 400, `state \"rejectd\" is none of [Rejected Excluded Partial Pending Serving]`, ""},
		{"/v1/verdicts/httproute/shop/checkout", 200, `"generation":7`, ""},
		{"/v1/verdicts/HTTPRoute/checkout", 200, `"generation":7`, ""},
		{"/v1/verdicts/gc/gatehouse", 200, `"steps":[{`, "null"},
		{"/v1/verdicts/gc/shop/gatehouse", 409, `GatewayClass has no namespace`, ""},
		{"/v1/verdicts/httproute/blog", 409, `"candidates":["team-a/blog","team-b/blog"]`, ""},
		{"/v1/verdicts/httproute/nothing", 404, `"name":"default/nothing"`, ""},
		{"/v1/verdicts/httproute/shop/nothing", 404, `"closest":[]`, ""},
		{"/v1/status", 200, `"kind":"GatewayClass"`, ""},
		{"/v1/status/gateways", 200, `"name":"edge"`, `"kind":"GatewayClass"`},
		{"/v1/status/gateway/shop/edge", 200, `{"apiVersion":`, ""},
		{"/v1/status/gateway/shop/none", 404, `Gateway shop/none was never seen`, ""},
		{"/v1/overview", 200, `"revision":118`, ""},
		{"/v1/views", 200, `"refused":[]`, "null"},
		{"/v1/rejections", 200, `{"inputRejections":[{"object":{"kind":"","name":""},"observed":{"content":"9c1f"},"accepted":null,`, `"at":"0001`},
		{"/v1/nothing", 404, `the API has /v1/verdicts`, ""},
		{"/config_dump", 200, `{"configs":[]}`, ""},
		{"/config_dump?gateway=shop/edge", 200, `{"configs":[]}`, ""},
		{"/config_dump?gateway=shop/none", 502, `gateway shop/none: its proxy gave no configuration: it has no proxy here`, ""},
		{"/healthz", 200, "ok", ""},
		{"/readyz", 200, "ok", ""},
		{"/debug/pprof/goroutine?debug=1", 200, "goroutine profile", ""},
		{"/debug/pprof/", 200, "heap", ""},
		{"/nothing", 404, "", ""},
	} {
		t.Run(test.path, func(t *testing.T) {
			w := ask(t, test.path)
			body := w.Body.String()
			if w.Code != test.status || !strings.Contains(body, test.want) || test.not != "" && strings.Contains(body, test.not) {
				t.Errorf("%d %s\nwant %d with %q and without %q", w.Code, body, test.status, test.want, test.not)
			}
		})
	}
}

func TestEmptyInstanceAnswersEmptyLists(t *testing.T) {
	if body := askOf(t, new(admintest.Reporter), "/v1/rejections").Body.String(); strings.TrimSpace(body) != `{"inputRejections":[]}` {
		t.Errorf("/v1/rejections: %s", body)
	}
	for _, path := range []string{"/v1/verdicts", "/v1/status", "/v1/views"} {
		if body := askOf(t, new(admintest.Reporter), path).Body.String(); strings.TrimSpace(body) != `{"items":[]}` {
			t.Errorf("%s: %s", path, body)
		}
	}
	var o admin.Overview
	body := askOf(t, new(admintest.Reporter), "/v1/overview").Body.Bytes()
	if err := json.Unmarshal(body, &o); err != nil || o.Gateways == nil || o.Attention == nil {
		t.Errorf("overview %s: %v", body, err)
	}
}

func TestNotReadyAndNotLive(t *testing.T) {
	r := admintest.Shop()
	r.NotReady = errors.New("gateway shop/edge listener https is warming")
	if w := askOf(t, r, "/readyz"); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "listener https is warming") {
		t.Errorf("readyz: %d %s", w.Code, w.Body)
	}
	w := httptest.NewRecorder()
	admin.Handler(admin.Options{Reporter: r, Live: func() error { return errors.New("stuck") }}).
		ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/healthz", nil))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("healthz: %d %s", w.Code, w.Body)
	}
}

type brokenReporter struct{ *admintest.Reporter }

func (brokenReporter) Overview() admin.Overview { panic("no overview") }

func (brokenReporter) ConfigDump(context.Context, string) ([]byte, error) {
	return []byte("not JSON"), nil
}

func TestDefectsAreAnswered(t *testing.T) {
	h := admin.Handler(admin.Options{Reporter: brokenReporter{admintest.Shop()}})
	for path, want := range map[string]string{
		"/v1/overview":             "this is a bug in Gatehouse, please report it: no overview",
		"/config_dump?gateway=a/b": "the answer is no JSON: ",
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil))
		if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// TestGuard: a browser that was sent here by a foreign page or name gets nothing.
func TestGuard(t *testing.T) {
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	for name, test := range map[string]struct {
		edit func(*http.Request)
		want int
	}{
		"address":        {host("127.0.0.1:19000"), 200},
		"address alone":  {host("127.0.0.1"), 200},
		"IPv6":           {host("[::1]:19000"), 200},
		"localhost":      {host("LocalHost:19000"), 200},
		"other address":  {host("10.0.0.7:19000"), 200},
		"foreign name":   {host("evil.example:19000"), 421},
		"looks like one": {host("127.0.0.1.evil.example"), 421},
		"no name":        {host(""), 421},
		"foreign write": {func(r *http.Request) {
			r.Method = http.MethodPost
			r.Header.Set("Sec-Fetch-Site", "cross-site")
		}, 403},
		"own write": {func(r *http.Request) { r.Method = http.MethodPost }, 405},
	} {
		t.Run(name, func(t *testing.T) {
			if w := ask(t, "/v1/overview", test.edit); w.Code != test.want {
				t.Errorf("%d %s, want %d", w.Code, w.Body, test.want)
			}
		})
	}
}
