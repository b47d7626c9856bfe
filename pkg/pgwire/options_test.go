package pgwire_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

// pairs are the settings of a line as text.
func pairs(line string) string {
	var all []string
	for _, s := range pgwire.Settings(line) {
		all = append(all, s.Name+"="+s.Value)
	}
	return strings.Join(all, "|")
}

func TestSettings(t *testing.T) {
	for name, test := range map[string]struct{ line, want, rest string }{
		"empty":               {"", "", ""},
		"separate":            {"-c g.d=a", "g.d=a", ""},
		"together":            {"-cg.d=a", "g.d=a", ""},
		"long":                {"--g.d=a", "g.d=a", ""},
		"long with dashes":    {"--g-x.d-e=a-b", "g_x.d_e=a-b", "--g-x.d-e=a-b"},
		"among others":        {"-c x=1 -c g.d=a --y=2", "x=1|g.d=a|y=2", "-c x=1 --y=2"},
		"first":               {"  -c\tg.d=a\t-c  x=1 ", "g.d=a|x=1", "  -c  x=1 "},
		"last":                {"-c  x=1\t -c g.d=a", "x=1|g.d=a", "-c  x=1"},
		"twice":               {"-c g.d=a -e -c g.d=b", "g.d=a|g.d=b", "-e"},
		"case":                {"-c G.D=a", "G.D=a", ""},
		"behind plain flags":  {"-sec g.d=a -i", "g.d=a", "-se -i"},
		"behind, together":    {"-secg.d=a -i", "g.d=a", "-se -i"},
		"long behind plain":   {"-e-g.d=a", "g.d=a", "-e"},
		"value of another":    {"-D -c g.d=a", "", "-D -c g.d=a"},
		"value of another, 2": {"-D-c -c g.d=a", "g.d=a", "-D-c"},
		"escaped space":       {`-c g.d=a\ b -c x=\\\ `, `g.d=a b|x=\ `, `-c x=\\\ `},
		"escapes everywhere":  {`\-\c \g.d\=a\`, "g.d=a", ""},
		"escape in cluster":   {`-s\c g.d=a`, "g.d=a", "-s"},
		"keeps an escape":     {`-c x=1\  -c g.d=a`, "x=1 |g.d=a", `-c x=1\ `},
		"empty value":         {"-c g.d=", "g.d=", ""},
		"equals in value":     {"-c g.d=a=b", "g.d=a=b", ""},
		"no value":            {"-c g.d", "", "-c g.d"},
		"nothing behind":      {"-e -c", "", "-e -c"},
		"end of flags":        {"-e -- -c g.d=a", "", "-e -- -c g.d=a"},
		"end as a value":      {"-c -- -c g.d=a", "g.d=a", "-c --"},
		"no flags":            {"x - -c g.d=a", "g.d=a", "x -"},
		"unknown flag":        {"-zc g.d=a", "", "-zc g.d=a"},
		"other white space":   {"-c\vg.d=a\f-c\r\nx=1", "g.d=a|x=1", "-c\r\nx=1"},
		"raw bytes":           {"-c g.d=\xff\xc3", "g.d=\xff\xc3", ""},
		"looks like it":       {"-c g.\u212a=1 -c g.dd=1", "g.\u212a=1|g.dd=1", "-c g.\u212a=1 -c g.dd=1"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, pairs(test.line)); diff != "" {
				t.Error(diff)
			}
			rest := pgwire.RemoveSettings(test.line, func(s pgwire.Setting) bool { return s.Is("g.d") || s.Is("g.k") })
			if diff := cmp.Diff(test.rest, rest); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRemoveSettingsKeepsTheOthers: whatever the line, what is removed is gone, what is
// not stays in order, and nothing is left behind that was not there.
func TestRemoveSettingsKeepsTheOthers(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"-c", "-e", "-sc", "-", "--", "g.d=a", "g.d=\\ ", "x=1", "y", "--g.d=b", "-cg.d=", "-D", "\\", " ", " ", " ", "\t", "\n",
	})
	rapid.Check(t, func(t *rapid.T) {
		line := strings.Join(rapid.SliceOf(piece).Draw(t, "pieces"), "")
		ours := func(s pgwire.Setting) bool { return s.Is("g.d") }
		rest := pgwire.RemoveSettings(line, ours)
		var want []string
		for _, s := range pgwire.Settings(line) {
			if !ours(s) {
				want = append(want, s.Name+"="+s.Value)
			}
		}
		if diff := cmp.Diff(strings.Join(want, "|"), pairs(rest)); diff != "" {
			t.Fatalf("%q became %q: %s", line, rest, diff)
		}
	})
}
