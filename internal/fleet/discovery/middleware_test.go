package discovery_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/discovery"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// TestAuthorization: the scheme in any case, one header, the whole token and no more.
func TestAuthorization(t *testing.T) {
	for name, test := range map[string]struct {
		headers []string
		status  int
	}{
		"right":                 {[]string{"Bearer " + token}, 200},
		"lower case":            {[]string{"bearer " + token}, 200},
		"upper case":            {[]string{"BEARER " + token}, 200},
		"more spaces":           {[]string{"Bearer   " + token}, 200},
		"none":                  {nil, 401},
		"empty":                 {[]string{""}, 401},
		"no token":              {[]string{"Bearer"}, 401},
		"empty token":           {[]string{"Bearer "}, 401},
		"beginning":             {[]string{"Bearer " + token[:len(token)-1]}, 401},
		"more":                  {[]string{"Bearer " + token + "x"}, 401},
		"other case":            {[]string{"Bearer " + strings.ToUpper(token)}, 401},
		"other scheme":          {[]string{"Basic " + token}, 401},
		"scheme is missing":     {[]string{token}, 401},
		"two":                   {[]string{"Bearer " + token, "Bearer " + token}, 401},
		"right behind wrong":    {[]string{"Bearer wrong", "Bearer " + token}, 401},
		"several in one header": {[]string{"Bearer " + token + ", Bearer " + token}, 401},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/proxies", nil)
			r.Header["Authorization"] = test.headers

			got := w.send(t, r)

			got.want(t, test.status)
			if challenge := got.header.Get("WWW-Authenticate"); (challenge != "") != (test.status == 401) || challenge != "" && !strings.HasPrefix(challenge, "Bearer ") {
				t.Errorf("WWW-Authenticate: %q", challenge)
			}
			if strings.Contains(got.body+w.log.String(), token) {
				t.Errorf("the token is told: %s%s", got.body, w.log)
			}
		})
	}
}

// TestOpenPaths need no token, and nothing else does without.
func TestOpenPaths(t *testing.T) {
	w := start(t)
	for path, status := range map[string]int{
		"/healthz": 200, "/readyz": 200, "/openapi.json": 200, "/v1/proxies": 401, "/v1/leases": 401, "/": 401, "/healthz/": 401, "//healthz": 401, "/HEALTHZ": 401,
	} {
		w.ask(t, "GET", path, "", "Authorization").want(t, status)
	}
}

// TestWithoutAToken everybody is let in who is no web page.
func TestWithoutAToken(t *testing.T) {
	w := start(t, open)

	w.ask(t, "GET", "/v1/proxies", "", "Authorization").want(t, 200, "count", 3.0)
	w.ask(t, "POST", "/v1/leases", "{}", "Origin: null").want(t, 403, "error", "forbidden")
	w.ask(t, "GET", "/healthz", "", "Origin: null").want(t, 200)
}

// TestMethods: every path says which it has; HEAD is GET without a body.
func TestMethods(t *testing.T) {
	w := start(t)
	for path, allow := range map[string]string{
		"/healthz": "GET, HEAD, OPTIONS", "/openapi.json": "GET, HEAD, OPTIONS", "/v1/proxies": "GET, HEAD, OPTIONS", "/v1/leases": "POST, OPTIONS",
		"/v1/leases/" + someID: "PUT, DELETE, OPTIONS", "/v1/leases/" + someID + "/report": "POST, OPTIONS",
	} {
		for _, method := range []string{"PATCH", "TRACE", "CONNECT", "get", "PROPFIND", "OPTIONS"} {
			got := w.ask(t, method, path, "")
			want := 405
			if method == "OPTIONS" {
				want = 204
			}
			got.want(t, want)
			if got.header.Get("Allow") != allow {
				t.Errorf("%s %s: Allow is %q, want %q", method, path, got.header.Get("Allow"), allow)
			}
		}
	}
	server := httptest.NewServer(w)
	defer server.Close()
	r, _ := http.NewRequestWithContext(t.Context(), "HEAD", server.URL+"/v1/proxies", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 200 || resp.ContentLength <= 0 || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("HEAD: %v, %d bytes, %v", resp.Status, resp.ContentLength, resp.Header)
	}
}

// TestPaths: none is cleaned into another.
func TestPaths(t *testing.T) {
	w := start(t)
	for _, path := range []string{
		"/v1/leases/", "/v1/leases/../", "/v1/leases/..", "/v1/leases/.", "/v1/leases//report", "/v1/leases/./report", "/v1/leases/" + someID + "/",
		"/v1/leases/" + someID + "/report/", "/v1/leases/a/b", "/v1/leases/" + someID + "/Report", "/v1//leases", "/v1/./leases", "/v1/x/../leases",
		"/v1/leases%2F" + someID, "/v1%2fleases", "/%2e%2e/v1/leases", "/v1/proxies/", "/v1/proxies/de-1", "/v2/leases", "/metrics", "/v1/leases/" + someID + "%2freport/",
	} {
		w.ask(t, "DELETE", path, "").want(t, 404, "error", "not_found")
	}
	for _, id := range []string{"..%2f..", "%2e%2e", "a%2Fb", "%00", "%ff", strings.ToUpper(someID), someID + "0", strings.Repeat("a", 8000), "%20", "{id}", "report"} {
		w.ask(t, "DELETE", "/v1/leases/"+id, "").want(t, 204)
		w.ask(t, "PUT", "/v1/leases/"+id, "{}").want(t, 404, "error", "unknown_lease")
	}
}

// panicking is a store with a defect that knows too much.
type panicking struct{ lease.Granter }

func (panicking) Release(_ context.Context, id string) error {
	panic("a defect about " + token + " and " + id)
}

// TestPanic: a defect is answered, and told to the log with its place and without secrets.
func TestPanic(t *testing.T) {
	w := start(t, func(w *world, o *discovery.Options) { o.Store = panicking{o.Store} })

	got := w.ask(t, "DELETE", "/v1/leases/"+someID, "")

	got.want(t, 500, "error", "internal")
	log := w.log.String()
	if !strings.Contains(log, "panicking.Release") || !strings.Contains(log, "level=ERROR") {
		t.Errorf("the log does not say where: %s", log)
	}
	if strings.Contains(log+got.body, token) || strings.Contains(log+got.body, someID) {
		t.Errorf("a secret is told: %s %s", log, got.body)
	}
}

// TestLog has a line for every request, and nothing that lets anybody use a lease or a proxy.
func TestLog(t *testing.T) {
	w := start(t)
	granted := w.ask(t, "POST", "/v1/leases?wait=1s", `{"selector":{"kind":"vm"},"session":"my-session"}`, "Idempotency-Key: my-key")
	id, _ := granted.at("leaseID").(string)
	w.ask(t, "PUT", "/v1/leases/"+id, `{}`)
	w.ask(t, "POST", "/v1/leases/"+id+"/report", `{"result":"no"}`)
	w.ask(t, "GET", "/v1/"+id, "")
	w.ask(t, "GET", "/v1/proxies?token="+token[:1], "")

	log := w.log.String()

	if lines := strings.Count(log, "answered a request"); lines != 5 {
		t.Errorf("%d lines, want 5: %s", lines, log)
	}
	for _, want := range []string{"method=POST path=/v1/leases lease=\"\" status=201", "path=/v1/leases/{id} lease=" + id[:8] + " status=200", "status=400 code=invalid_result", "path=unknown", "code=invalid_query"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q: %s", want, log)
		}
	}
	for _, secret := range []string{id, token, "p@ss", "my-key", "my-session", "token="} {
		if strings.Contains(log, secret) {
			t.Errorf("the log has %q: %s", secret, log)
		}
	}
}

// TestRefusalsTellNoSecret of what was sent with them.
func TestRefusalsTellNoSecret(t *testing.T) {
	w := start(t)
	key := "key-that-nobody-may-see " // a space is refused

	got := w.ask(t, "POST", "/v1/leases", "{}", "Idempotency-Key: "+key+"x")

	got.want(t, 400, "error", "invalid_key")
	if strings.Contains(got.body+w.log.String(), "nobody-may-see") {
		t.Errorf("the key is told: %s%s", got.body, w.log)
	}
}
