package admin

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page's parts
	"encoding/base64"
	"html/template"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

var (
	//go:embed page.css
	style string
	//go:embed page.html
	pageText string

	pages = template.Must(template.New("page").Funcs(template.FuncMap{
		"css":    func() template.CSS { return template.CSS(style) },
		"remedy": Remedy,
		"since":  since,
		"lower":  func(s any) string { return strings.ToLower(toText(s)) },
	}).Parse(pageText))

	// contentPolicy lets a browser use the page's own style and nothing else.
	contentPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; style-src 'sha256-" + hashOf(style) + "'"
)

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func toText(v any) string {
	switch v := v.(type) {
	case verdict.State:
		return string(v)
	case verdict.Outcome:
		return string(v)
	case string:
		return v
	}
	return ""
}

// since is a time for people, empty for none.
func since(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return "since " + t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// count is how many objects are in a state.
type count struct {
	State verdict.State
	N     int
}

// counts returns the states that occur, worst first.
func (o Overview) counts() []count {
	var out []count
	for _, s := range States {
		if n := o.Objects[string(s)]; n > 0 {
			out = append(out, count{State: s, N: n})
		}
	}
	return out
}

// Total returns how many objects there are.
func (o Overview) Total() int {
	total := 0
	for n := range maps.Values(o.Objects) {
		total += n
	}
	return total
}

type overviewPage struct {
	Overview
	Counts  []count
	Metrics string
	Ready   error
	Views   []View
	Up      time.Duration
	More    int // things to look at that are not shown
}

// manyProblems is how many things to look at the page shows.
const manyProblems = 200

func (a *api) page(w http.ResponseWriter, _ *http.Request) {
	o := a.Reporter.Overview()
	more := max(0, len(o.Attention)-manyProblems)
	o.Attention = o.Attention[:len(o.Attention)-more]
	render(w, "overview", overviewPage{
		More: more, Overview: o, Counts: o.counts(), Metrics: a.Metrics, Ready: a.Reporter.Ready(),
		Views: a.Reporter.Views(), Up: time.Since(o.Since).Round(time.Second),
	})
}

type whyPage struct {
	Name    string
	Verdict *verdict.Verdict
	Never   *NeverSeen
	API     string
}

func (a *api) whyPage(w http.ResponseWriter, r *http.Request) {
	t, problem := a.target(r)
	if problem != nil {
		fail(w, http.StatusConflict, problem.Error)
		return
	}
	v, never := a.Reporter.Verdict(t.kind, t.name)
	p := whyPage{Name: t.kind + " " + t.name, Verdict: v, API: objectPath("/v1/verdicts", t.kind, t.name)}
	if v == nil {
		p.Never = neverSeen(t, never).NeverSeen
	}
	render(w, "why", p)
}

func render(w http.ResponseWriter, name string, data any) {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, data); err != nil {
		fail(w, http.StatusInternalServerError, "the page cannot be made: "+err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, visible(b.String()))
}
