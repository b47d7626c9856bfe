package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// judged runs the steady shop with the test validator, which has these arguments.
func judged(t *testing.T, args ...string) *stage {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "validator")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/gatehouse-proxy/gatehouse/test/validator")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the validator: %v\n%s", err, out)
	}
	file := filepath.Join(dir, "validators.yaml")
	text := must(json.Marshal([]map[string]any{{"name": "house", "command": append([]string{program}, args...), "timeout": "20s"}}))(t)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return startSteady(t, "--validators", file)
}

// marked is an HTTPRoute of its own name that leaves a mark.
func marked(name, mark, backend string) string {
	return route(name, "http", name+domain, `  - filters: [`+edit(mark)+`]
    `+to(backend))
}

// TestFaultsOfAValidator: objects that only an auxiliary validator refuses, whether or
// not it names them.
func TestFaultsOfAValidator(t *testing.T) {
	for name, args := range map[string][]string{
		"named": {"-forbid", "forbidden-mark", "-names"}, "not named": {"-forbid", "forbidden-mark"},
	} {
		t.Run(name, func(t *testing.T) {
			s := judged(t, args...)
			green, blue := map[string]string{"victim": "green"}, map[string]string{"victim": "blue"}
			for _, f := range []fault{
				{name: "a new object", not: []string{"victim"}},
				{name: "a served object", before: serving("victim.yaml", marked("victim", "fine", "green"), green), still: green},
			} {
				t.Run(f.name, func(t *testing.T) {
					f.inject, f.rejected, f.says = writes("victim.yaml", marked("victim", "forbidden-mark", "red")), "httproute e2e/victim", "house: "
					f.repair, f.then = writes("victim.yaml", marked("victim", "fine", "blue")), blue
					f.run(t, s)
				})
			}
		})
	}
}

// TestBadOnlyTogether: of two objects that are bad only together the one that was
// accepted stays, whichever of them a refusal names.
func TestBadOnlyTogether(t *testing.T) {
	s := judged(t, "-apart", "HTTPRoute e2e/elder,HTTPRoute e2e/younger")
	elder := map[string]string{"elder": "green"}
	fault{
		before: serving("elder.yaml", marked("elder", "fine", "green"), elder),
		inject: writes("younger.yaml", marked("younger", "fine", "blue")), rejected: "httproute e2e/younger", says: "must not be there together",
		still: elder, not: []string{"younger"},
		repair: func(t *testing.T, s *stage) { t.Helper(); s.remove(t, "elder.yaml") }, then: map[string]string{"younger": "blue"},
	}.run(t, s)
}

// TestDeletionThatBreaksOthers: what others need keeps serving although its file is gone.
func TestDeletionThatBreaksOthers(t *testing.T) {
	s := judged(t, "-needs", "HTTPRoute e2e/needy,HTTPRoute e2e/needed", "-names")
	serve := map[string]string{"needed": "green", "needy": "blue"}
	fault{
		before: func(t *testing.T, s *stage) {
			t.Helper()
			s.write(t, "needed.yaml", marked("needed", "fine", "green"))
			s.serves(t, map[string]string{"needed": "green"})
			s.write(t, "needy.yaml", marked("needy", "fine", "blue"))
			s.serves(t, serve)
		},
		inject:   func(t *testing.T, s *stage) { t.Helper(); s.remove(t, "needed.yaml") },
		rejected: "httproute e2e/needed", says: "needs HTTPRoute e2e/needed", still: serve,
		repair: writes("needed.yaml", marked("needed", "fine", "red")), then: map[string]string{"needed": "red", "needy": "blue"},
	}.run(t, s)
}

// TestEndpointsOvertakeAValidator: while a validator of routes thinks, endpoints are served.
func TestEndpointsOvertakeAValidator(t *testing.T) {
	const thinks = 3 * time.Second
	s := judged(t, "-sleep", thinks.String(), "-changed")
	roaming := s.roam(t)
	moves := roaming.moves.Load()
	since := time.Now()
	s.write(t, "slow.yaml", marked("slow", "fine", "green"))
	s.eventually(t, "the validator thinks", func(context.Context) error {
		if time.Since(since) < thinks/2 {
			return errors.New("not for long yet")
		}
		return nil
	})
	if err := s.try(t.Context(), "slow"+domain, try{status: 404}); err != nil {
		t.Errorf("the route did not wait for its verdict: %v", err)
	}
	if now := roaming.moves.Load(); now < moves+5 {
		t.Errorf("%d endpoints were served while the validator was thinking", now-moves)
	}
	s.serves(t, map[string]string{"slow": "green"})
	if waited := time.Since(since); waited < thinks {
		t.Errorf("the route is served after %s, before its verdict", waited)
	}
	roaming.end(t)
}
