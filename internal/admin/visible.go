package admin

import (
	"fmt"
	"strings"
	"unicode"
)

// visible writes control characters, and those that change the direction of
// writing, as \x1b: what users write into objects shall not act on a page.
func visible(page string) string {
	if !strings.ContainsFunc(page, acts) {
		return page
	}
	var b strings.Builder
	for _, r := range page {
		switch {
		case !acts(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func acts(r rune) bool {
	return r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}
