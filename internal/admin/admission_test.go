package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	admission_v1 "k8s.io/api/admission/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/admin/admintest"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// judge answers every proposal in the same way and keeps the last one.
type judge struct {
	answer admin.Admission
	err    error
	got    admin.Proposal
	left   time.Duration // that there was
}

func (j *judge) Admit(ctx context.Context, p admin.Proposal) (admin.Admission, error) {
	j.got = p
	end, _ := ctx.Deadline()
	j.left = time.Until(end)
	return j.answer, j.err
}

func post(t *testing.T, j *judge, path, body string, change func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	admin.Handler(admin.Options{Reporter: admintest.Shop(), Admitter: j}).ServeHTTP(w, r)
	return w
}

func reviewOf(operation, more string) string {
	return fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u-1","operation":%q,
		"kind":{"group":"gateway.networking.k8s.io","version":"v1","kind":"HTTPRoute"},"namespace":"shop","name":"search"%s}}`, operation, more)
}

const object = `,"object":{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"search"}}`

func responseOf(t *testing.T, w *httptest.ResponseRecorder) admission_v1.AdmissionResponse {
	t.Helper()
	var out admission_v1.AdmissionReview
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || out.Response == nil || out.Kind != "AdmissionReview" || out.APIVersion != "admission.k8s.io/v1" {
		t.Fatalf("HTTP %d %s: %v", w.Code, w.Body, err)
	}
	if out.Request != nil || out.Response.UID != "u-1" {
		t.Errorf("uid %q, request %v", out.Response.UID, out.Request)
	}
	return *out.Response
}

// Each operation proposes what it would do; what decides nothing here is not judged.
func TestReviewOperations(t *testing.T) {
	withNamespace := `{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"search","namespace":"shop"}}`
	for name, c := range map[string]struct{ body, want string }{
		"create":      {reviewOf("CREATE", object), `{"objects":[` + withNamespace + `]}`},
		"dry run":     {reviewOf("CREATE", object+`,"dryRun":true`), `{"objects":[` + withNamespace + `]}`},
		"update":      {reviewOf("UPDATE", object+`,"oldObject":{}`), `{"objects":[` + withNamespace + `]}`},
		"delete":      {reviewOf("DELETE", `,"oldObject":{}`), `{"deletions":[{"kind":"HTTPRoute","name":"shop/search"}]}`},
		"connect":     {reviewOf("CONNECT", ""), `{}`},
		"status":      {reviewOf("UPDATE", object+`,"subResource":"status"`), `{}`},
		"a namespace": {strings.Replace(strings.Replace(reviewOf("DELETE", ""), "HTTPRoute", "Namespace", 1), "gateway.networking.k8s.io", "", 1), `{"deletions":[{"kind":"Namespace","name":"search"}]}`},
		"other kind":  {strings.Replace(reviewOf("DELETE", ""), "HTTPRoute", "Pod", 1), `{}`},
	} {
		j := &judge{answer: admin.Admission{Admitted: true}}
		if got := responseOf(t, post(t, j, "/v1/admission", c.body, nil)); !got.Allowed || got.Result != nil {
			t.Errorf("%s: %+v", name, got)
		}
		if got, _ := json.Marshal(j.got); string(got) != c.want {
			t.Errorf("%s proposes %s, want %s", name, got, c.want)
		}
	}
}

// A refusal says object, field, value, cause and remedy in one line, with all causes
// beside it; what would serve less than meant is a warning.
func TestReviewAnswers(t *testing.T) {
	name := admin.ObjectName{Kind: "HTTPRoute", Name: "shop/search"}
	bad := verdict.OutputInvalid.Step(verdict.Accept, verdict.WasRejected, `"/(": missing ); add it`).At("spec.rules[0]")
	lost := verdict.BackendNotFound.Step(verdict.Compile, verdict.WasExcluded, "Service shop/web does not exist").At("spec.rules[1]")
	for reason, c := range map[string]struct {
		code    int32
		finding admin.ProposalFinding
		message string
	}{
		admin.RefusedInvalid:  {422, admin.ProposalFinding{ObjectName: name, Step: bad, Fails: true}, `httproute shop/search spec.rules[0]: "/(": missing ); add it`},
		admin.RefusedConflict: {409, admin.ProposalFinding{ObjectName: name, Step: bad, Fails: true, Other: true, Where: "a.yaml:3"}, `would reject httproute shop/search (a.yaml:3) spec.rules[0]: "/(": missing ); add it`},
		admin.RefusedBudget:   {429, admin.ProposalFinding{ObjectName: name, Step: lost}, ""},
	} {
		j := &judge{answer: admin.Admission{Reason: reason, RetryAfter: 1500 * time.Millisecond, Findings: []admin.ProposalFinding{c.finding, {ObjectName: name, Step: lost}}}}
		got := responseOf(t, post(t, j, "/v1/admission", reviewOf("CREATE", object), nil))
		if got.Allowed || got.Result.Code != c.code || got.Result.Message != c.message || got.Result.Details.RetryAfterSeconds != 2 {
			t.Errorf("%s: %+v", reason, got.Result)
		}
		if last := got.Warnings[len(got.Warnings)-1]; !strings.HasPrefix(last, "httproute shop/search spec.rules[1]: Service shop/web does not exist → Create") {
			t.Errorf("%s warns %q", reason, last)
		}
	}
}

// What is no review is answered 400, or what HTTP has for it, and says what to do.
func TestMalformedReviews(t *testing.T) {
	for name, c := range map[string]struct {
		body   string
		change func(*http.Request)
		code   int
		want   string
	}{
		"no JSON":         {body: "{", code: 400, want: "is no AdmissionReview"},
		"empty":           {body: "", code: 400, want: "is no AdmissionReview"},
		"another kind":    {body: `{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview"}`, code: 400, want: "admission.k8s.io/v1"},
		"no request":      {body: `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, code: 400, want: "request: is missing"},
		"no uid":          {body: strings.Replace(reviewOf("CREATE", object), "u-1", "", 1), code: 400, want: "request.uid: is missing"},
		"no object":       {body: reviewOf("CREATE", ""), code: 400, want: "request.object: is missing"},
		"null object":     {body: reviewOf("UPDATE", `,"object":null`), code: 400, want: "request.object: is missing"},
		"operation":       {body: reviewOf("PATCH", object), code: 400, want: `"PATCH" is none of CREATE, UPDATE, DELETE, CONNECT`},
		"another object":  {body: strings.Replace(reviewOf("CREATE", object), `"name":"search"}}`, `"name":"other"}}`, 1), code: 400, want: `its name is "other"`},
		"content type":    {body: reviewOf("CREATE", object), change: func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, code: 415, want: "send application/json"},
		"no content type": {body: reviewOf("CREATE", object), change: func(r *http.Request) { r.Header.Del("Content-Type") }, code: 415, want: "send application/json"},
		"method":          {change: func(r *http.Request) { r.Method = http.MethodGet }, code: 405, want: "by POST"},
		"too large":       {body: strings.Repeat(" ", 9<<20), code: 413, want: "larger than 8388608 bytes"},
		"timeout":         {body: reviewOf("CREATE", object), change: func(r *http.Request) { r.URL.RawQuery = "timeout=soon" }, code: 400, want: `timeout "soon"`},
		"foreign page": {body: reviewOf("CREATE", object), change: func(r *http.Request) {
			r.Header.Set("Origin", "http://evil.example")
			r.Header.Set("Sec-Fetch-Site", "cross-site")
		}, code: 403},
		"rebound name": {body: reviewOf("CREATE", object), change: func(r *http.Request) { r.Host = "evil.example" }, code: 421, want: "is not answered"},
	} {
		j := &judge{}
		w := post(t, j, "/v1/admission", c.body, c.change)
		if w.Code != c.code || !strings.Contains(w.Body.String(), strings.ReplaceAll(c.want, `"`, `\"`)) {
			t.Errorf("%s: HTTP %d %s", name, w.Code, w.Body)
		}
		if j.got.Objects != nil {
			t.Errorf("%s was judged", name)
		}
	}
}

// The time that a request has is kept: a tenth of it is left for the way back.
func TestReviewDeadline(t *testing.T) {
	for query, want := range map[string]time.Duration{
		"": 9500 * time.Millisecond, "timeout=2s": 1800 * time.Millisecond, "timeout=3": 2700 * time.Millisecond, "timeout=10m": 29500 * time.Millisecond,
	} {
		j := &judge{answer: admin.Admission{Admitted: true}}
		post(t, j, "/v1/admission?"+query, reviewOf("CREATE", object), nil)
		if j.left > want || j.left < want-time.Second {
			t.Errorf("%q leaves %s, want %s", query, j.left, want)
		}
	}
}

// Without a verdict the API server's failurePolicy decides.
func TestNoVerdict(t *testing.T) {
	j := &judge{err: &admin.NoVerdictError{Why: "too many", RetryAfter: time.Second}}

	w := post(t, j, "/v1/admission", reviewOf("CREATE", object), nil)

	if w.Code != 503 || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), "no verdict: too many") {
		t.Errorf("HTTP %d %v %s", w.Code, w.Header(), w.Body)
	}
}

// Several objects are proposed together.
func TestProposalOfASet(t *testing.T) {
	j := &judge{answer: admin.Admission{Admitted: true, Trials: 1}}
	w := post(t, j, "/v1/admission/set", `{"objects":[{"kind":"A"},{"kind":"B"}],"deletions":[{"kind":"C","name":"d"}]}`, nil)
	if w.Code != 200 || len(j.got.Objects) != 2 || len(j.got.Deletions) != 1 || !strings.Contains(w.Body.String(), `"admitted":true`) {
		t.Errorf("HTTP %d %s", w.Code, w.Body)
	}
	for _, body := range []string{`{}`, `[]`, `{"object":{}}`} {
		if w := post(t, j, "/v1/admission/set", body, nil); w.Code != 400 || !strings.Contains(w.Body.String(), "proposal") {
			t.Errorf("%s: HTTP %d %s", body, w.Code, w.Body)
		}
	}
}

// The client speaks to the handler, in either form of an address.
func TestClientProposes(t *testing.T) {
	name := admin.ObjectName{Kind: "HTTPRoute", Name: "shop/search"}
	j := &judge{answer: admin.Admission{Reason: admin.RefusedInvalid, Findings: []admin.ProposalFinding{{ObjectName: name, Fails: true, Step: verdict.OutputInvalid.Step(verdict.Accept, verdict.WasRejected, "no")}}}}
	server := httptest.NewServer(admin.Handler(admin.Options{Reporter: admintest.Shop(), Admitter: j}))
	defer server.Close()
	c := admin.Client{Address: strings.TrimPrefix(server.URL, "http://")}

	got, err := c.Admit(t.Context(), admin.Proposal{Deletions: []admin.ObjectName{name}})
	if err != nil || got.Admitted || len(got.Findings) != 1 || got.Findings[0].Name != "shop/search" {
		t.Errorf("%+v %v", got, err)
	}
	j.err = &admin.NoVerdictError{Why: "too many"}
	if _, err := c.Admit(t.Context(), admin.Proposal{Deletions: []admin.ObjectName{name}}); err == nil || err.Error() != "no verdict: too many" {
		t.Errorf("%v", err)
	}
	c.Address = "127.0.0.1:1"
	if _, err := c.Admit(t.Context(), admin.Proposal{}); !isUnreachable(err) {
		t.Errorf("%v", err)
	}
}

func isUnreachable(err error) bool {
	_, is := errors.AsType[*admin.UnreachableError](err)
	return is
}

// FuzzReview: whatever is sent is answered, with what was sent or with why not.
func FuzzReview(f *testing.F) {
	for _, body := range []string{
		reviewOf("CREATE", object), reviewOf("DELETE", ""), reviewOf("CONNECT", ""), reviewOf("CREATE", `,"object":[]`), reviewOf("CREATE", `,"object":{"metadata":[]}`),
		`{}`, `[]`, "", reviewOf("CREATE", `,"object":{"metadata":{"namespace":null}}`),
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		j := &judge{answer: admin.Admission{Admitted: true}}
		w := post(t, j, "/v1/admission", body, nil)
		if w.Code != 200 && w.Code != 400 {
			t.Fatalf("HTTP %d %s", w.Code, w.Body)
		}
		if w.Code == 400 && (j.got.Objects != nil || j.got.Deletions != nil) {
			t.Fatal("judged, and answered that it is no review")
		}
		var sent, answered admission_v1.AdmissionReview
		if w.Code != 200 {
			return
		}
		if err := errors.Join(json.Unmarshal([]byte(body), &sent), json.Unmarshal(w.Body.Bytes(), &answered)); err != nil || answered.Response.UID != sent.Request.UID {
			t.Fatalf("%v: %s", err, w.Body)
		}
		for _, o := range j.got.Objects {
			if !json.Valid(o) {
				t.Fatalf("proposes %q", o)
			}
		}
	})
}
