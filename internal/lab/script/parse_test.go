package script_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/script"
)

// refused returns what Parse says about a text that it must refuse.
func refused(t *testing.T, text string) string {
	t.Helper()
	_, err := script.Parse("f.yaml", []byte(text))
	if _, ok := errors.AsType[*script.Error](err); !ok {
		t.Fatalf("Parse(%.80q) = %v, want a *script.Error", text, err)
	}
	return err.Error()
}

func TestParseRefusesWhatIsNoText(t *testing.T) {
	for text, want := range map[string]string{
		"steps:\n\t- add: a\n":         `f.yaml:2: a tab begins the line; YAML indents with spaces`,
		"steps:\n- add: a\n  \tat: 1s": `f.yaml:3: a tab begins the line; YAML indents with spaces`,
		"steps:\n- add: \x00a\n":       `f.yaml:2: has the control character '\x00'; a script is a YAML text file`,
		"\x7fELF\x02\x01\n":            `f.yaml:1: has the control character '\x7f'; a script is a YAML text file`,
		"steps:\n- add: \xff\n":        `f.yaml:2: is not UTF-8 text; a script is a YAML file`,
		"\xff\xfes\x00":                `f.yaml:1: is not UTF-8 text; a script is a YAML file`,
	} {
		if got := refused(t, text); got != want {
			t.Errorf("Parse(%q):\n%s\nwant\n%s", text, got, want)
		}
	}
}

func TestParseTakesWindowsTextAndSpacedTabs(t *testing.T) {
	text := "\ufeff# from another editor\r\nsteps:\r\n\r\n- add: a\t# a tab before a comment\r\n"
	if _, err := script.Parse("f.yaml", []byte(text)); err != nil {
		t.Error(err)
	}
}

func TestParseBoundsSizeAndEvents(t *testing.T) {
	for what, test := range map[string]struct{ text, want string }{
		"size":        {strings.Repeat("# \n", script.MaxSize/3+1), "f.yaml: has 8388609 bytes, more than 8388608; "},
		"events":      {"steps:\n" + scales(11), "f.yaml:12: with this step the script has more than 1000000 events; leave steps out"},
		"flow depth":  {"steps: " + strings.Repeat("[", 20_000), "f.yaml: is not YAML: exceeded max depth of 10000; "},
		"block depth": {"steps:\n" + strings.Repeat("- ", 20_000) + "a", "f.yaml:2: not YAML: exceeded max depth of 10000; "},
	} {
		if got := refused(t, test.text); !strings.HasPrefix(got, test.want) || strings.Contains(got, "\n") {
			t.Errorf("%s: %.200s\nwant %s", what, got, test.want)
		}
	}
}

// scales returns steps that add 100,000 backends each.
func scales(steps int) string {
	var b strings.Builder
	for i := range steps {
		fmt.Fprintf(&b, "- scale: {name: g%d, to: 100000}\n", i)
	}
	return b.String()
}

// manySteps returns a script of n steps, each on a line of its own.
func manySteps(n int) []byte {
	var b strings.Builder
	b.WriteString("steps:\n")
	for i := range n / 4 {
		fmt.Fprintf(&b, "- add: 10.1.%d.%d\n- add: blue-%d\n- reload\n- remove: {backends: blue-%d, end: kill}\n", i/250, i%250, i, i)
	}
	return []byte(b.String())
}

func BenchmarkParseHundredThousandSteps(b *testing.B) {
	text := manySteps(100_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s, err := script.Parse("f.yaml", text)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Timeline(time.Minute); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, summary := range script.Names() {
		text, _ := script.Text(summary.Name)
		f.Add(string(text))
	}
	f.Add("steps:\n- {at: 3s, remove: {backends: [a, b], end: kill, grace: 1s}}\n- lose: a\n- pause: 1h\n")
	f.Add("every: -1s\nreload: &a {interval: *a}\nsteps: [[{add: ~}], {ad: x}, {scale: {name: x, from: 7}}]\n--- {")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := script.Parse("f.yaml", []byte(text))
		if err != nil {
			found, ok := errors.AsType[*script.Error](err)
			if !ok || len(found.Problems) == 0 || len(found.Problems) > script.MaxProblems {
				t.Fatalf("Parse = %#v", err)
			}
			return
		}
		if timeline, err := s.Timeline(0); err == nil {
			check(t, timeline)
		}
	})
}
