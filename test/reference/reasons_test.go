package reference

import (
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

func reasonsPage(t *testing.T) []byte {
	t.Helper()
	m := &markdown{}
	m.text("# Verdict reasons")
	m.text("Every step of `gatehouse why` has one of these reasons; where Gateway API has a condition reason of the same meaning, it is the same word.")
	m.text("- **outcome**: Gateway API defines what happens. The object is accepted and that behaviour is served at its new generation.\n- **failure**: the specification leaves it open. The revision may be rejected; the previous accepted one stays in force.\n- **info**: how far a good object has come.")
	m.text("Which scenario shows which reason is in [outcomes](outcomes.md).")
	for _, class := range []verdict.Class{verdict.OutcomeClass, verdict.FailureClass, verdict.InfoClass} {
		m.text("## %s", strings.ToUpper(string(class[:1]))+string(class[1:]))
		reasonTable(t, m, class)
	}
	return m.Bytes()
}

func reasonTable(t *testing.T, m *markdown, class verdict.Class) {
	t.Helper()
	head := []string{"reason", "meaning", "what to do"}
	if class == verdict.InfoClass {
		head = head[:2]
	}
	m.head(head...)
	for _, r := range verdict.All {
		if r.Class != class {
			continue
		}
		if r.Meaning == "" || r.Remedy == "" && class != verdict.InfoClass {
			t.Errorf("reason %s has no meaning or no remedy", r.Name)
		}
		m.row([]string{code(r.Name), r.Meaning, r.Remedy}[:len(head)]...)
	}
	m.gap()
}
