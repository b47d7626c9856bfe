package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// badEdits are edits of the only route that are refused, each for another reason, and
// the reason.
var badEdits = map[string]struct{ text, reason string }{
	"by compile": {route("only", "http", "only"+domain, `  - matches: [{path: {type: RegularExpression, value: "("}}]
    `+to("green")), "Retained"},
	"by schema": {route("only", "http", "only"+domain, `  - matches: [{path: {type: Nonsense, value: /}}]
    `+to("green")), "Retained"},
	"no YAML":     {"{[\n", ""},
	"no identity": {"kind: HTTPRoute\nspec: {}\n", ""},
}

// TestRestartWithBadEdit: "after a restart with the bad object still there, the last
// accepted revision serves at once", whatever it is refused for, and whether it was
// edited before the process was killed or while it was down; repair releases it.
func TestRestartWithBadEdit(t *testing.T) {
	t.Parallel()
	for name, bad := range badEdits {
		for _, down := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, edited while down %v", name, down), func(t *testing.T) {
				s := start(t, simple())
				s.kept(t, "HTTPRoute e2e/only")
				if down {
					s.Kill()
					s.write(t, "route.yaml", bad.text)
				} else {
					s.write(t, "route.yaml", bad.text)
					if bad.reason != "" {
						s.waitReason(t, "httproute", "e2e/only", bad.reason)
						s.noted(t, "HTTPRoute e2e/only")
					}
					s.Kill()
				}
				s.inspect(t)
				killed := time.Now()
				s.again(t)
				s.must(t, s.WaitReady)
				if err := s.try(t.Context(), "only"+domain, try{from: "red"}); err != nil {
					t.Errorf("after the restart: %v\n%s", err, s.Output())
				}
				if bad.reason != "" {
					if step := s.waitReason(t, "httproute", "e2e/only", bad.reason); !strings.Contains(step.Message, "earlier run") {
						t.Errorf("it does not say since when: %s", step.Message)
					}
					if since := s.since(t, "only"); !down && since.After(killed) {
						t.Errorf("rejected since %s, and it was before the restart at %s", since, killed)
					}
				}
				s.write(t, "route.yaml", route("only", "http", "only"+domain, `  - `+to("green")))
				s.eventually(t, "repair releases it", func(ctx context.Context) error {
					return s.try(ctx, "only"+domain, try{from: "green"})
				})
				s.waitState(t, "httproute", "e2e/only", verdict.Serving)
			})
		}
	}
}

// since is since when an object of a name is rejected.
func (s *stage) since(t *testing.T, name string) time.Time {
	t.Helper()
	list := must(s.API().InputRejections(t.Context()))(t)
	for _, r := range list.InputRejections {
		if r.Object.Name == name {
			return r.Since
		}
	}
	t.Errorf("%s is not rejected: %+v", name, list)
	return time.Time{}
}

// kept waits until the state directory has an object.
func (s *stage) kept(t *testing.T, object string) {
	t.Helper()
	s.eventually(t, object+" is kept", func(context.Context) error {
		if !strings.Contains(s.journals(t), `"`+object+`" `) {
			return errors.New("not yet")
		}
		return nil
	})
}

// noted waits until the state directory says since when an object is rejected, which it
// does moments after the verdict.
func (s *stage) noted(t *testing.T, object string) {
	t.Helper()
	s.eventually(t, "the rejection of "+object+" is kept", func(context.Context) error {
		for line := range strings.Lines(s.journals(t)) {
			if strings.Contains(line, `"`+object+`" `) && strings.Contains(line, `"rejected":`) {
				return nil
			}
		}
		return errors.New("not yet")
	})
}

// journals is what the state directory keeps of accepted revisions, in files that
// nobody else can read.
func (s *stage) journals(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	for _, path := range must(filepath.Glob(filepath.Join(s.state, "accepted*.journal")))(t) {
		if info := must(os.Stat(path))(t); info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		out.Write(must(os.ReadFile(path))(t))
	}
	return out.String()
}

// TestDeletedWhileDown: what was deleted while no process ran is gone, and so is what
// was kept of it.
func TestDeletedWhileDown(t *testing.T) {
	t.Parallel()
	s := start(t, simple())
	s.kept(t, "HTTPRoute e2e/only")
	s.Kill()
	s.inspect(t)
	s.remove(t, "route.yaml")
	s.again(t)
	s.must(t, s.WaitReady)
	s.eventually(t, "it is gone", func(ctx context.Context) error {
		return s.try(ctx, "only"+domain, try{status: 404})
	})
	s.Kill()
	s.inspect(t)
	s.again(t)
	s.must(t, s.WaitReady)
	if err := s.try(t.Context(), "only"+domain, try{status: 404}); err != nil {
		t.Error(err)
	}
}

// TestSecretsLeaveNothing: the body of a Secret is kept in a file that nobody else can
// read, and no longer than the Secret is there.
func TestSecretsLeaveNothing(t *testing.T) {
	t.Parallel()
	s := start(t, simple())
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: pass, namespace: e2e}\ndata: {word: %s}\n"
	s.write(t, "secret.yaml", fmt.Sprintf(secret, "Zmlyc3Q="))
	s.kept(t, "Secret e2e/pass")
	s.write(t, "secret.yaml", fmt.Sprintf(secret, "c2Vjb25k"))
	s.eventually(t, "only the second body is kept", func(context.Context) error {
		if kept := s.journals(t); strings.Contains(kept, "Zmlyc3Q=") || !strings.Contains(kept, "c2Vjb25k") {
			return errors.New("not yet")
		}
		return nil
	})
	s.remove(t, "secret.yaml")
	s.eventually(t, "nothing of it is kept", func(context.Context) error {
		if strings.Contains(s.journals(t), "c2Vjb25k") {
			return errors.New("its body is")
		}
		return nil
	})
}
