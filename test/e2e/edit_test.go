package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// edits are what people do to files: change, break, repair, delete, move.
func (s *stage) edits(t *testing.T) {
	host := "edited" + domain
	put := func(t *testing.T, rules string) {
		t.Helper()
		s.write(t, "edited.yaml", route("edited", "http", host, rules))
	}
	serves := func(t *testing.T, c try) {
		t.Helper()
		s.eventually(t, fmt.Sprintf("%s gets what it must", host), func(ctx context.Context) error { return s.try(ctx, host, c) })
	}
	put(t, `  - `+to("red"))
	serves(t, try{from: "red"})

	t.Run("a changed backend is followed", func(t *testing.T) {
		put(t, `  - `+to("green"))
		serves(t, try{from: "green"})
	})
	t.Run("a broken document keeps its previous revision and holds nobody back", func(t *testing.T) {
		put(t, `  - backendRef: [{name: red, port: 80}]`)
		v := s.waitState(t, "httproute", "e2e/edited", verdict.Rejected)
		if step := rejection(v); step.Field == "" || step.Message == "" {
			t.Errorf("the rejection names no field or no cause: %+v", step)
		}
		serves(t, try{from: "green"})
		s.tell(t, story{name: "neighbour", host: "neighbour", rules: `  - ` + to("blue"), tries: []try{{from: "blue"}}})
	})
	t.Run("a repaired document is followed", func(t *testing.T) {
		put(t, `  - `+to("blue"))
		serves(t, try{from: "blue"})
		s.waitState(t, "httproute", "e2e/edited", verdict.Serving)
	})
	t.Run("a moved document stays", func(t *testing.T) {
		if err := os.Rename(filepath.Join(s.dir, "edited.yaml"), filepath.Join(s.dir, "renamed.yaml")); err != nil {
			t.Fatal(err)
		}
		s.eventually(t, "why names the new file", func(ctx context.Context) error {
			r, err := s.Ask(ctx, "why", "httproute", "e2e/edited")
			if err == nil && !strings.Contains(r.Stdout, "renamed.yaml") {
				err = fmt.Errorf("it says:\n%s", r.Stdout)
			}
			return err
		})
		serves(t, try{from: "blue"})
	})
	t.Run("a deleted document is gone", func(t *testing.T) {
		s.remove(t, "renamed.yaml")
		serves(t, try{status: 404})
		s.eventually(t, "why has not seen it", func(ctx context.Context) error {
			r, err := s.Ask(ctx, "why", "httproute", "e2e/edited")
			if err == nil && r.Exit != 1 {
				err = fmt.Errorf("exit %d:\n%s", r.Exit, r.Stdout)
			}
			return err
		})
	})
	t.Run("moved endpoints are followed", s.moveEndpoints)
}

// rejection is the first step that rejected, or the zero step.
func rejection(v verdict.Verdict) verdict.Step {
	for _, step := range v.Steps {
		if step.Outcome == verdict.WasRejected {
			return step
		}
	}
	return verdict.Step{}
}

// moveEndpoints is the path of its own that endpoints have.
func (s *stage) moveEndpoints(t *testing.T) {
	at := func(backend string) string { return pair("e2e", "roaming", backend) }
	s.write(t, "roaming.yaml", at("@RED@"))
	host := "roam" + domain
	s.write(t, "roam.yaml", route("roam", "http", host, `  - `+to("roaming")))
	for word, name := range map[string]string{"@RED@": "red", "@GREEN@": "green", "@BLUE@": "blue"} {
		s.write(t, "roaming.yaml", at(word))
		s.eventually(t, "answers are from "+name, func(ctx context.Context) error { return s.try(ctx, host, try{from: name}) })
	}
}
