package script_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/script"
)

const page = "../../../docs/lab-scripts.md"

// examples are YAML blocks, each with a text block that shows what it comes to.
var examples = regexp.MustCompile("(?s)```yaml\n(.*?)```\n\n```text\n(.*?)```\n")

// TestPage checks that every example of the page comes to what stands below it; -update
// writes it there.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	fresh := examples.ReplaceAllStringFunc(string(text), func(block string) string {
		example := examples.FindStringSubmatch(block)[1]
		return fmt.Sprintf("```yaml\n%s```\n\n```text\n%s```\n", example, listing("my.yaml", []byte(example)))
	})
	if flag.Lookup("update").Value.String() == "true" && fresh != string(text) {
		if err := os.WriteFile(page, []byte(fresh), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(text), fresh); diff != "" {
		t.Errorf("docs/lab-scripts.md (-is +should be; accept with -update):\n%s", diff)
	}
	if all, checked := strings.Count(fresh, "```yaml"), len(examples.FindAllString(fresh, -1)); all != checked || all == 0 {
		t.Errorf("of %d YAML blocks %d have a text block below", all, checked)
	}
}

// TestPageIsComplete checks that the page has every step, every built-in script and
// the bounds.
func TestPageIsComplete(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	_, steps, _ := strings.Cut(refused(t, "steps: [{xyzzy: a}]"), "the steps are ")
	for step := range strings.SplitSeq(steps, ", ") {
		want = append(want, "| `"+step)
	}
	if len(want) < 9 {
		t.Fatalf("no steps in %q", steps)
	}
	for _, built := range script.Names() {
		want = append(want, fmt.Sprintf("| `%s` | %s |\n", built.Name, built.Does))
	}
	want = append(want, fmt.Sprintf("| %d,000,000 | %d,000 |\n", script.MaxEvents/1_000_000, script.MaxRealEvents/1000),
		fmt.Sprintf("| %d |\n", script.MaxRealBackends), fmt.Sprintf("| %d MiB |\n", script.MaxSize>>20),
		fmt.Sprintf("| %d hours | %d minutes |\n", int(script.MaxLength.Hours()), int(script.MaxRealLength.Minutes())))
	for _, part := range want {
		if !strings.Contains(string(text), part) {
			t.Errorf("docs/lab-scripts.md lacks %q", part)
		}
	}
}
