package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/test/envoytest"
)

// strictLimit is the size of regular expressions, in RE2's instructions, that the
// strict Envoy compiles.
const strictLimit = 200

// strict returns an Envoy that refuses more than the compiler knows of: a real one whose
// limit for regular expressions is lower, where it only proves.
func strict(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "envoy")
	text := fmt.Sprintf(`#!/bin/sh
case "$*" in *--config-path*/prover/*) sed -i 's/%d/%d/' "$2" ;; esac
exec %s "$@"
`, model.MaxProgramSize, strictLimit, envoytest.Binary(t))
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// longRules have an expression that the compiler takes and the strict Envoy does not.
const longRules = `  - matches: [{path: {type: RegularExpression, value: "/[a-z]{500}"}}]
    backendRefs: [{name: green, port: 80}]
`

// TestFaultsOfAnEnvoy: objects that only a real Envoy refuses. Those that serve never
// see what the proving one refused.
func TestFaultsOfAnEnvoy(t *testing.T) {
	green, blue := map[string]string{"victim": "green"}, map[string]string{"victim": "blue"}
	victim := func(rules string) string { return route("victim", "http", "victim"+domain, rules) }
	s := startSteady(t, "--envoy", strict(t), "--prover=require")
	for _, f := range []fault{
		{name: "a new object", not: []string{"victim"}},
		{name: "a served object", before: serving("victim.yaml", victim(`  - `+to("green")), green), still: green},
	} {
		t.Run(f.name, func(t *testing.T) {
			f.inject, f.rejected, f.says = writes("victim.yaml", victim(longRules)), "httproute e2e/victim", "RE2 program size"
			f.repair, f.then = writes("victim.yaml", victim(`  - `+to("blue"))), blue
			f.run(t, s)
		})
	}
	if refused := s.metric(t, "gatehouse_xds_nacks_total"); refused > 0 {
		t.Errorf("those that serve refused %v resources", refused)
	}
}
