package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page's parts
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"unicode"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

var (
	//go:embed page.css
	style string
	//go:embed page.html
	pageText string

	pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
		"css":    func() template.CSS { return template.CSS(style) },
		"policy": func() string { return contentPolicy(style) },
	}).Parse(pageText))
)

// contentPolicy lets a browser use the page's own style and load nothing.
func contentPolicy(style string) string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// HTML writes one page that needs nothing beside itself: a summary, and for each proxy a
// timeline of truth and belief. What is drawn is bounded, so that the page stays below
// 2 MB; a note says what is left out.
func HTML(w io.Writer, r lab.Result) error {
	var text string
	for _, by := range budgets(len(r.Proxies)) {
		var b bytes.Buffer
		if err := pageTemplate.Execute(&b, pageOf(r, by)); err != nil {
			return fmt.Errorf("the report of %s cannot be drawn: %w", r.Timeline.Name, err)
		}
		if text = visible(b.String()); len(text) <= manyBytes {
			break
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

// manyBytes make a page be drawn again with less detail.
const manyBytes = 1_800_000

// visible writes out control characters, and those that change the direction of
// writing: names shall not act on a page.
func visible(page string) string {
	acts := func(c rune) bool {
		return c != '\n' && unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c)
	}
	if !strings.ContainsFunc(page, acts) {
		return page
	}
	var b strings.Builder
	for _, c := range page {
		if acts(c) {
			fmt.Fprintf(&b, `\u%04x`, c)
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}
