package reference

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// scenarioFiles returns the text of every scenario by its path from the repository's root.
func scenarioFiles(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, pattern := range []string{"../../test/scenarios/*.txtar", "../../test/scenarios/*/*.txtar"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			out[filepath.ToSlash(strings.TrimPrefix(path, "../../"))] = text
		}
	}
	return out
}

// example returns the scenario that shows a reason: the one named after it, else
// the first by name whose verdicts have it.
func example(scenarios map[string][]byte, reason string) string {
	var found []string
	step := regexp.MustCompile(`(?m)^  [a-z]+ [a-z]+ ` + regexp.QuoteMeta(reason) + `[ :]`) // "  compile excluded REASON field: message"
	for path, text := range scenarios {
		if step.Match(text) {
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		return ""
	}
	slices.Sort(found)
	best := found[0]
	for _, path := range found {
		if strings.HasPrefix(filepath.Base(path), kebab(reason)) {
			best = path
			break
		}
	}
	return fmt.Sprintf("[%s](../../%s)", strings.TrimSuffix(filepath.Base(best), ".txtar"), best)
}

// kebab turns "NoMatchingParent" into "no-matching-parent".
func kebab(name string) string {
	var b strings.Builder
	for i, c := range name {
		if unicode.IsUpper(c) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

func reasonsPage(t *testing.T) []byte {
	t.Helper()
	m := &markdown{}
	m.text("# Verdict reasons")
	m.text("Every step of `gatehouse why` has one of these reasons; where Gateway API has a condition reason of the same meaning, it is the same word.")
	m.text("- **outcome**: Gateway API defines what happens. The object is accepted and that behaviour is served at its new generation.\n- **failure**: the specification leaves it open. The revision may be rejected; the previous accepted one stays in force.\n- **info**: how far a good object has come.")
	scenarios := scenarioFiles(t)
	for _, class := range []verdict.Class{verdict.OutcomeClass, verdict.FailureClass, verdict.InfoClass} {
		m.text("## %s", strings.ToUpper(string(class[:1]))+string(class[1:]))
		reasonTable(t, m, class, scenarios)
	}
	return m.Bytes()
}

func reasonTable(t *testing.T, m *markdown, class verdict.Class, scenarios map[string][]byte) {
	t.Helper()
	head := []string{"reason", "meaning", "what to do", "scenario"}
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
		m.row([]string{code(r.Name), r.Meaning, r.Remedy, example(scenarios, r.Name)}[:len(head)]...)
	}
	m.gap()
}
