package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// validate asks the running instance about a change, and returns the exit status and
// what was printed.
func (s *stage) validate(t *testing.T, text string, args ...string) (code int, out string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "change.yaml")
	if err := os.WriteFile(path, []byte(s.words.Replace(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	args = append([]string{"validate", "--against", "http://" + s.Admin, "-f", path}, args...)
	printed, err := exec.CommandContext(t.Context(), s.binary, args...).CombinedOutput()
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return code, strings.ReplaceAll(string(printed), path, "change.yaml")
}

// TestChangesAreCheckedAgainstWhatRuns: before it is saved, a change is judged beside
// everything that really serves: good, bad, in conflict, a pair that needs each other,
// and while another object is rejected. Nothing of it is saved.
func TestChangesAreCheckedAgainstWhatRuns(t *testing.T) {
	s := start(t, simple())
	invalid := func(name string) string {
		return route(name, "http", name+domain, `  - matches: [{path: {type: RegularExpression, value: "/("}}]
    `+to("green"))
	}
	good := route("more", "http", "more"+domain, "  - "+to("green"))
	s.write(t, "bad.yaml", invalid("bad"))
	s.waitState(t, "HTTPRoute", "e2e/bad", verdict.Rejected)

	for name, c := range map[string]struct {
		text string
		code int
		want []string
	}{
		"good beside a rejected one": {good, 0, []string{"0 findings in 0 of 1 file"}},
		"bad":                        {invalid("worse"), 1, []string{"change.yaml:1", "httproute e2e/worse", `spec.rules[0].matches[0].path.value: "/(": `, "1 finding in 1 of 1 file"}},
		"the rejected revision":      {invalid("bad"), 1, []string{"httproute e2e/bad"}},
		"refused by the schema":      {strings.Replace(good, "parentRefs", "parentRef", 1), 1, []string{"did you mean"}},
		"what serves already":        {simple()["route.yaml"], 0, []string{"0 findings"}},
		"one document of two is bad": {good + "\n---\n" + invalid("worse"), 1, []string{"httproute e2e/worse"}},
	} {
		code, out := s.validate(t, c.text)
		if code != c.code {
			t.Errorf("%s: exit %d\n%s", name, code, out)
		}
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s does not say %q:\n%s", name, want, out)
			}
		}
	}
	if code, out := s.validate(t, good, "-o", "json"); code != 0 || !strings.Contains(out, `"findings": []`) {
		t.Errorf("-o json: exit %d\n%s", code, out)
	}
	if v, err := s.API().Verdict(t.Context(), "HTTPRoute", "e2e/more"); err == nil {
		t.Errorf("what was only asked about is there: %+v", v)
	}
	s.write(t, "more.yaml", good)
	s.eventually(t, "what was admitted serves", func(ctx context.Context) error {
		return s.try(ctx, "more"+domain, try{from: "green"})
	})
}

// TestDependencyPairInOneChange: a route and the Service that it needs pass together
// without a warning; alone, the route is warned of, and so is who deletes the Service.
func TestDependencyPairInOneChange(t *testing.T) {
	s := start(t, simple())
	needs := strings.ReplaceAll(route("more", "http", "more"+domain, "  - "+to("green")), "green", "fresh")
	service := "\n---\napiVersion: v1\nkind: Service\nmetadata: {name: fresh, namespace: e2e}\nspec: {ports: [{port: 80}]}\n"

	if code, out := s.validate(t, needs+service); code != 0 || strings.Contains(out, "does not exist") {
		t.Errorf("together: exit %d\n%s", code, out)
	}
	if code, out := s.validate(t, needs); code != 0 || !strings.Contains(out, "does not exist") {
		t.Errorf("alone: exit %d\n%s", code, out)
	}
	if code, out := s.validate(t, needs+service, "--delete", "httproute/e2e/none"); code != 0 || !strings.Contains(out, "is not there") {
		t.Errorf("a deletion of nothing: exit %d\n%s", code, out)
	}
}

// TestReviewsAsAnAPIServerSendsThem: the webhook's form over HTTP.
func TestReviewsAsAnAPIServerSendsThem(t *testing.T) {
	s := start(t, simple())
	review := func(path string) string {
		object := fmt.Sprintf(`{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"more","namespace":"e2e"},"spec":{
			"parentRefs":[{"name":"edge"}],"hostnames":["more%s"],"rules":[{"matches":[{"path":{"type":"RegularExpression","value":%q}}]}]}}`, domain, path)
		return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u-1","operation":"CREATE","name":"more","namespace":"e2e",
			"kind":{"group":"gateway.networking.k8s.io","version":"v1","kind":"HTTPRoute"},"object":` + object + `}}`
	}
	for path, want := range map[string]string{"/a": `"allowed":true`, "/(": `"allowed":false`} {
		r := must(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.Admin+"/v1/admission?timeout=10s", strings.NewReader(review(path))))(t)
		r.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body := new(strings.Builder)
		if err := errors.Join(response.Write(body), response.Body.Close()); err != nil {
			t.Error(err)
		}
		if response.StatusCode != http.StatusOK || !strings.Contains(body.String(), want) || !strings.Contains(body.String(), `"uid":"u-1"`) {
			t.Errorf("%s: HTTP %d %s", path, response.StatusCode, body)
		}
	}
}
