package verdict

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine writes what cannot be printed as an escape, so that a message keeps to
// one line and tells no terminal what to do: what objects say can be any text.
func OneLine(text string) string {
	if !strings.ContainsFunc(text, unprintable) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unprintable(r) {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unprintable(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
