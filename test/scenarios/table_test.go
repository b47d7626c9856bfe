package scenarios

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/internal/source/file"
	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/golden"
)

const (
	root  = "../../"
	pages = root + "docs/reference/"
)

// elsewhere are the reasons that no scenario can have, why, and the test that has
// them: its file from the repository's root, and its name.
var elsewhere = map[string]struct{ why, file, test string }{
	verdict.RefusedByProxy.Name:      {"only a running proxy refuses", "pkg/xdsserve/refusal_test.go", "TestOneBadTable"},
	verdict.Closed.Name:              {"needs a previous revision", "internal/pipeline/expired_test.go", "TestRetainedSecretClosesAfterSevenDays"},
	verdict.Narrowed.Name:            {"needs a previous revision", "internal/pipeline/expired_test.go", "TestNarrowedGatewayServesNoWider"},
	verdict.RefusedByValidator.Name:  {"nothing offline asks a validator", "internal/validator/command/command_test.go", "TestVerdicts"},
	verdict.CrashesProxy.Name:        {"only a running proxy ends", "internal/validator/prover/prover_test.go", "TestEnvoyDiesTwice"},
	verdict.OutputInvalid.Name:       {"compile refuses such values first", "internal/translate/envoy/checks_test.go", "TestRefusedRegexes"},
	verdict.WarmTimedOut.Name:        {"only a running proxy warms clusters", "test/e2e/life_test.go", "TestNameServerThatDropsPackets"},
	verdict.InternalError.Name:       {"a bug in Gatehouse", "pkg/derive/fault_test.go", "TestFaultStaysAlone"},
	verdict.Unexplained.Name:         {"a bug in Gatehouse", "internal/verdict/reasons_test.go", "TestZeroResultIsUnexplained"},
	verdict.IncompatibleFilters.Name: {"the schema refuses such a route first", "internal/compile/rules_test.go", "TestValuesThatNothingIsSpecifiedFor"},
	schema.ImmutableField.Name:       {"needs a previous revision", "internal/source/file/index_test.go", "TestReplacingAnImmutableFieldNeedsADeletion"},
	file.FileUnreadable.Name:         {"a scenario has ordinary files only", "internal/source/file/tree_test.go", "TestSpecialFilesAndLoopsNeitherBlockNorRepeat"},
	file.DirectoryRepeated.Name:      {"a scenario has no links", "internal/source/file/tree_test.go", "TestSpecialFilesAndLoopsNeitherBlockNorRepeat"},
}

// decisive are all reasons that say an object, or a part of it, is not as its
// author wants it, in order of name.
func decisive() []verdict.Reason {
	all := slices.Concat(verdict.All, schema.Reasons, file.Reasons)
	all = slices.DeleteFunc(all, func(r verdict.Reason) bool {
		return r.Class == verdict.InfoClass || slices.Contains(verdict.FleetReasons, r) // a scenario is a gateway's
	})
	slices.SortFunc(all, func(a, b verdict.Reason) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(all, func(a, b verdict.Reason) bool { return a.Name == b.Name })
}

var stepLine = regexp.MustCompile(`(?m)^  [a-z]+ [a-z]+ ([A-Za-z]+)[ :]`)

// occurrences are the scenarios that have each reason, by name.
func occurrences(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	golden.Each(t, "*.txtar", func(_ *testing.T, f *golden.File) {
		name := strings.TrimSuffix(filepath.Base(f.Path()), ".txtar")
		verdicts, _ := f.Section("verdicts.txt")
		for _, match := range stepLine.FindAllSubmatch(verdicts, -1) {
			reason := string(match[1])
			if !slices.Contains(out[reason], name) {
				out[reason] = append(out[reason], name)
			}
		}
	})
	return out
}

// Every outcome and every failure has a scenario, or a test that has what no
// scenario can have.
func TestEveryReasonHasAScenario(t *testing.T) {
	found := occurrences(t)
	for _, reason := range decisive() {
		other, listed := elsewhere[reason.Name]
		switch has := len(found[reason.Name]) > 0; {
		case has && listed:
			t.Errorf("%s has a scenario (%s): take it out of the list of those that have none", reason.Name, found[reason.Name][0])
		case !has && !listed:
			t.Errorf("%s (%s) has no scenario: write one that shows it", reason.Name, reason.Class)
		case listed:
			hasTest(t, other.file, other.test)
		}
	}
}

func hasTest(t *testing.T, path, name string) {
	t.Helper()
	text, err := os.ReadFile(root + path)
	if err != nil || !bytes.Contains(text, []byte("func "+name+"(")) {
		t.Errorf("%s has no %s (error: %v)", path, name, err)
	}
}

// TestOutcomesPage keeps docs/reference/outcomes.md fresh.
func TestOutcomesPage(t *testing.T) {
	fresh(t, "outcomes.md", outcomes(occurrences(t)))
}

// fresh checks that a page of the reference is what it should be, or makes it so.
func fresh(t *testing.T, page string, want []byte) {
	t.Helper()
	if update := flag.Lookup("update"); update != nil && update.Value.String() == "true" {
		if err := os.WriteFile(pages+page, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(pages + page)
	if diff := cmp.Diff(string(have), string(want)); err != nil || diff != "" {
		t.Errorf("docs/reference/%s is out of date: run \"go test ./test/scenarios -update\" (error: %v)\n%s", page, err, diff)
	}
}

const outcomesHead = `<!-- Generated by "go test ./test/scenarios -update"; do not edit. -->
# Outcome or failure?

- **outcome**: Gateway API defines what happens. The object is accepted, and that behaviour is served at its new generation.
- **failure**: the specification leaves it open. The revision is rejected, or the part of it at fault is dropped; the previous accepted revision stays in force.

Each row names the scenarios that show it, with the objects that go in and what becomes of them side by side. What a reason means and what to do is in [verdict reasons](verdict-reasons.md).

| reason | is | scenarios |
|---|---|---|
`

func outcomes(found map[string][]string) []byte {
	var b bytes.Buffer
	b.WriteString(outcomesHead)
	for _, reason := range decisive() {
		var links []string
		for _, name := range found[reason.Name] {
			links = append(links, fmt.Sprintf("[%s](../../test/scenarios/%s.txtar)", name, name))
		}
		if other, ok := elsewhere[reason.Name]; ok {
			links = append(links, fmt.Sprintf("none (%s): [%s](../../%s)", other.why, other.test, other.file))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", reason.Name, reason.Class, strings.Join(links, ", "))
	}
	return b.Bytes()
}
