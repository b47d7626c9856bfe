package discovery_test

import (
	"encoding/json/v2"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/discovery"
)

// FuzzBodies: what the description allows is taken, and nothing else; and nothing is no JSON
// for one reader and JSON for the other.
func FuzzBodies(f *testing.F) {
	for _, test := range refusals {
		f.Add(byte(0), []byte(test.body))
		f.Add(byte(1), []byte(test.body))
		f.Add(byte(2), []byte(test.body))
	}
	f.Add(byte(0), []byte(`{"selector":{"country":"de"},"ttlSeconds":60,"target":"shop.example","namespace":"a","session":"s","exclude":["a/b"]}`))
	f.Add(byte(2), []byte(`{"result":"ok","target":"shop.example"}`))
	names := []string{"LeaseRequest", "RenewRequest", "ReportRequest"}
	d, err := described()
	if err != nil {
		f.Fatal(err)
	}
	schemas := map[string]*jsonschema.Schema{}
	for _, name := range names {
		if schemas[name], err = d.compiler.Compile(documentURL + "#/components/schemas/" + name); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, which byte, body []byte) {
		name := names[int(which)%len(names)]
		err := discovery.Parse(name, body)
		if err != nil && (strings.ContainsAny(err.Error(), "\r\n\x00") || len(err.Error()) > 600 || !utf8.ValidString(err.Error())) {
			t.Errorf("%q is refused with %q", body, err)
		}
		var value any
		if json.Unmarshal(body, &value) != nil {
			if err == nil {
				t.Errorf("%q is taken and no JSON", body)
			}
			return
		}
		if allowed := schemas[name].Validate(value); (err == nil) != (allowed == nil) && !missing(name, value) {
			t.Errorf("%q: %v, and the description says %v", body, err, allowed)
		}
	})
}

// missing says whether a report lacks its result, which is seen once all is read.
func missing(name string, value any) bool {
	object, ok := value.(map[string]any)
	return ok && name == "ReportRequest" && object["result"] == nil
}

// FuzzRequests: whatever the path, the query and the key, the answer is one that the
// description has, and no defect.
func FuzzRequests(f *testing.F) {
	methods := []string{"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"}
	for _, test := range refusals {
		method, target, _ := strings.Cut(test.ask, " ")
		path, query, _ := strings.Cut(target, "?")
		for i := range methods {
			if methods[i] == method {
				f.Add(byte(i), path, query, "k")
			}
		}
	}
	f.Add(byte(1), "/v1/leases/%2e%2e/report", "", "")
	f.Add(byte(0), "/v1/proxies", "attr.country=de&healthy=true&namespace=crawl", "")
	f.Fuzz(func(t *testing.T, method byte, path, query, key string) {
		w := start(t)
		r := w.request(t, methods[int(method)%len(methods)], "/", "{}")
		u, err := r.URL.Parse("http://fleet.example" + path)
		if err != nil || !strings.HasPrefix(path, "/") || u.Host != "fleet.example" || strings.Contains(query, "wait") {
			return
		}
		if r.URL, r.URL.RawQuery = u, query; key != "" {
			r.Header["Idempotency-Key"] = []string{key}
		}
		got := w.send(t, r)
		if got.status == http.StatusInternalServerError || strings.Contains(w.log.String(), token) {
			t.Errorf("%s %s: %s %s", r.Method, r.URL, got.body, w.log)
		}
	})
}
