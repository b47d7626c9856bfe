package render

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/admin/admintest"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

var plain = Style{Unicode: true}

// everything is all that can be rendered of an instance, by what it is.
func everything(s Style, r *admintest.Reporter) map[string]string {
	out := map[string]string{
		"overview": Overview(s, r.Page, admintest.Since.Add(time.Hour)),
		"views":    Views(s, r.Beliefs),
		"verdicts": Verdicts(s, r.All),
		"rejected": Rejections(s, r.Rejected, admintest.Since.Add(3*time.Hour)),
	}
	for _, v := range r.All {
		out["why "+v.Object.Name] = Why(s, v)
	}
	return out
}

// TestNothingWraps: whatever the width of the terminal, no line is wider; what
// users write into objects does not change that.
func TestNothingWraps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Style{Unicode: rapid.Bool().Draw(t, "unicode"), Width: rapid.IntRange(0, 200).Draw(t, "width")}
		r := admintest.Shop()
		for i := range r.All {
			for j := range r.All[i].Steps {
				r.All[i].Steps[j].Message = rapid.String().Draw(t, "message")
				r.All[i].Steps[j].Field = rapid.StringN(0, 60, -1).Draw(t, "field")
			}
		}
		for i := range r.Page.Attention {
			r.Page.Attention[i].Message = rapid.String().Draw(t, "attention")
		}
		for i := range r.Rejected {
			r.Rejected[i].Message = rapid.String().Draw(t, "rejected")
			r.Rejected[i].Validator = rapid.StringN(0, 20, -1).Draw(t, "validator")
		}
		for what, text := range everything(s, r) {
			for line := range strings.Lines(text) {
				line = strings.TrimSuffix(line, "\n")
				if n := utf8.RuneCountInString(line); n > s.width() && s.width() >= 60 {
					t.Fatalf("%s: %d columns of %d: %s", what, n, s.width(), line)
				}
				if strings.ContainsFunc(line, unsafeRune) || !utf8.ValidString(line) {
					t.Fatalf("%s has control characters: %q", what, line)
				}
			}
		}
	})
}

func TestASCIIHasNoSymbols(t *testing.T) {
	for what, text := range everything(Style{}, admintest.Shop()) {
		for _, r := range text {
			if r > 0x7e {
				t.Errorf("%s has %q:\n%s", what, r, text)
				break
			}
		}
	}
}

func TestColourIsOnlyWhereWanted(t *testing.T) {
	coloured := everything(Style{Unicode: true, Color: true}, admintest.Shop())
	for what, text := range everything(plain, admintest.Shop()) {
		if strings.Contains(text, "\x1b") {
			t.Errorf("%s has colours: %q", what, text)
		}
		if !strings.Contains(coloured[what], "\x1b[") || uncoloured(coloured[what]) != text {
			t.Errorf("%s: colours change more than colours:\n%s\n%s", what, text, coloured[what])
		}
	}
}

func uncoloured(text string) string {
	for _, code := range []string{"0", "1", "2", "31", "32", "33"} {
		text = strings.ReplaceAll(text, "\x1b["+code+"m", "")
	}
	return text
}

// TestTerminalIsSafe: no field of an object can speak to the terminal.
func TestTerminalIsSafe(t *testing.T) {
	for text, want := range map[string]string{
		"\x1b]0;title\x07": `\x1b]0;title\x07`,
		"a\u202eb":         `a\u202eb`,
		"a\x80\xffb":       `a\x80\xffb`,
		"a\nb\tc":          "a b c",
		"\u009b31m":        `\x9b31m`,
		"grün ✓":           "grün ✓",
	} {
		if got := plain.Text(text); got != want {
			t.Errorf("%q shows as %q, want %q", text, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  string
	}{
		{"", 10, ""},
		{"one two three", 7, "one two|three"},
		{"one two", 7, "one two"},
		{"abcdefghij", 4, "abcd|efgh|ij"},
		{"a abcdefghij", 4, "a|abcd|efgh|ij"},
		{"cause → effect → remedy", 40, "cause|→ effect|→ remedy"},
		{"äöü äöü", 3, "äöü|äöü"},
	} {
		if got := strings.Join(plain.wrap(test.text, test.width), "|"); got != test.want {
			t.Errorf("%q in %d is %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		300 * time.Microsecond: "0.3 ms", 9 * time.Millisecond: "9 ms", 999 * time.Millisecond: "999 ms",
		3100 * time.Millisecond: "3.1 s", 72 * time.Second: "1m 12s", 125 * time.Minute: "2h 5m", 76 * time.Hour: "3d 4h",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%d is %q, want %q", d, got, want)
		}
	}
}

func TestWhyNamesEverything(t *testing.T) {
	v := admintest.Shop().All[0]
	v.Proxies.Refused = []verdict.Refusal{{Proxy: "edge-3", Resource: verdict.Resource{Type: "Listener", Name: "l"}, Message: "in use"}}
	v.Steps[0].Related = []verdict.Ref{{Collection: "Service", Name: "shop/web"}}
	for range 9 {
		v.Resources = append(v.Resources, verdict.Resource{Type: "Cluster", Name: "c"})
	}
	got := Why(plain, v)
	for _, want := range []string{
		" ✗ proxy      edge-3 refuses Listener l: in use\n",
		"              → see also service shop/web\n",
		"and 4 more (-o json)",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
}

func TestRejectionsShowTheirAgeAndWhatServes(t *testing.T) {
	got := Rejections(plain, admintest.Shop().Rejected[1:2], admintest.Since.Add(3*time.Hour))

	want := `OBJECT                 REJECTED      FOR    SERVES INSTEAD
httproute shop/search  generation 2  2h 0m  generation 1
    spec.rules[0].matches[0].path.value: "/(" is no regular expression of RE2: missing ); close the
    group or write \( for the character [InvalidRegularExpression]
    by checks · file examples/shop/search.yaml:18 · accepted 3h 0m ago
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNothingIsRejected(t *testing.T) {
	if got := Rejections(plain, nil, admintest.Since); got != "nothing is rejected\n" {
		t.Errorf("got %q", got)
	}
}

func TestEmptyOverview(t *testing.T) {
	got := Overview(plain, admin.Overview{Version: "0.1.0", Envoy: "1.40.0", Since: admintest.Since}, admintest.Since)
	want := `gatehouse 0.1.0 · envoy 1.40.0 · revision 0 · up 0.0 ms
0 objects

no gateway is served; a Gateway needs a GatewayClass with this controller's name
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestEvents(t *testing.T) {
	at := time.Date(2026, 11, 29, 14, 2, 11, 204e6, time.Local)
	for _, test := range []struct {
		e    observe.LiveEvent
		want string
	}{
		{
			observe.LiveEvent{At: at, Kind: "HTTPRoute", Name: "shop/checkout", What: observe.Changed, Acked: 1, Total: 1, Took: 9 * time.Millisecond, Where: "a.yaml:1"},
			"14:02:11.204  httproute shop/checkout   changed    acknowledged 1/1 in 9 ms\n",
		},
		{
			observe.LiveEvent{At: at, Kind: "HTTPRoute", Name: "shop/search", What: observe.Accepted, Acked: 1, Total: 1, Took: 11 * time.Millisecond, Message: "was rejected for 1m 12s"},
			"14:02:11.204  httproute shop/search     accepted   acknowledged 1/1 in 11 ms\n" +
				"              was rejected for 1m 12s\n",
		},
		{
			observe.LiveEvent{At: at, Kind: "Secret", Name: "shop/tls", What: observe.Refused, Where: "shop/tls.yaml:3", Message: "private key does not match certificate; the previous pair (expires in 61 days) keeps serving"},
			"14:02:11.204  secret shop/tls           rejected\n" +
				"              private key does not match certificate; the previous pair (expires in 61 days) keeps\n" +
				"              serving · file shop/tls.yaml:3\n",
		},
		{
			observe.LiveEvent{At: at, Kind: "Service", Name: "shop/web", What: observe.Deleted},
			"14:02:11.204  service shop/web          deleted\n",
		},
		{
			observe.LiveEvent{At: at, Kind: "Service", Name: "shop/web", What: observe.Changed, Acked: 1, Total: 2},
			"14:02:11.204  service shop/web          changed    acknowledged 1/2\n",
		},
	} {
		if got := Event(plain, test.e, 24); got != test.want {
			t.Errorf("got\n%s\nwant\n%s", got, test.want)
		}
	}
}
