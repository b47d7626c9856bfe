package live

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/gatehouse-proxy/gatehouse/internal/cli/render"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// View shows events as lines on a terminal.
type View struct {
	style render.Style

	mu sync.Mutex // guards what follows
	w  io.Writer
	// object is the width of the column of objects; it only grows, so that lines
	// stay below each other.
	object int
	paths  string
}

var _ observe.Live = (*View)(nil)

// NewView returns a View that writes to w.
func NewView(w io.Writer, s render.Style) *View { return &View{w: w, style: s, object: 24} }

// Started opens the view.
func (v *View) Started(s observe.Start) {
	envoy := "envoy " + s.Envoy
	if s.EnvoyHow != "" {
		envoy += " (" + s.EnvoyHow + ")"
	}
	v.mu.Lock()
	v.paths = strings.Join(s.Paths, ", ")
	v.mu.Unlock()
	title := "gatehouse " + s.Version
	lines := v.style.Lines(title + " · " + envoy + " · admin " + s.Admin)
	v.print("%s%s", v.style.Paint(render.Bold, title), strings.TrimPrefix(lines, title))
}

// Loaded shows what the first batch of objects came to.
func (v *View) Loaded(l observe.Loaded) {
	var b strings.Builder
	b.WriteString(v.style.Lines(fmt.Sprintf("watching %s: %s, %s", v.watched(), render.Count(l.Files, "file"), render.Counts(l.ByState))))
	problems := lasting(l.Problems)
	for _, p := range problems[:min(len(problems), manyProblems)] {
		b.WriteString(render.Problem(v.style, p))
	}
	if more := len(problems) - manyProblems; more > 0 {
		fmt.Fprintf(&b, "  and %d more; 'gatehouse status' shows them\n", more)
	}
	v.print("%s", b.String())
}

// manyProblems is how many objects that are not serving are shown at the start.
const manyProblems = 20

// lasting leaves out what is only on its way.
func lasting(problems []observe.Problem) []observe.Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p observe.Problem) bool { return p.State == string(verdict.Pending) })
}

func (v *View) watched() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.paths
}

// Ready shows where the gateways can be reached.
func (v *View) Ready(r observe.Ready) {
	v.print("%s%s in %s\n\n", served(v.style, r.Gateways), v.style.Paint(render.Green, "ready"), render.Duration(r.Took))
}

func served(s render.Style, gateways []observe.Served) string {
	t := render.Table{}
	for _, g := range gateways {
		addresses := strings.Join(g.Addresses, "  ")
		if addresses == "" {
			addresses = "no address"
		}
		t.Rows = append(t.Rows, []render.Cell{render.T("gateway " + g.Name), render.T(addresses)})
	}
	return t.Render(s)
}

// Event shows one change.
func (v *View) Event(e observe.LiveEvent) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.object = max(v.object, min(utf8.RuneCountInString(render.Subject(e)), widest))
	_, _ = io.WriteString(v.w, render.Event(v.style, e, v.object))
}

// widest is the most that one long name may push the other columns to the right.
const widest = 44

// Stopping says that the instance ends.
func (v *View) Stopping(why string) { v.print("%s", v.style.Lines("stopping: "+why)) }

// print ignores errors: when the terminal is gone there is nobody to tell.
func (v *View) print(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, _ = fmt.Fprintf(v.w, format, args...)
}
