package envoy

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// encoded returns the match of a value however a client writes it. Envoy
// compares the text of the query, where "a b" is "a%20b" or "a+b"; a value of
// letters and digits has one form only.
func encoded(q model.ValueMatch) model.ValueMatch {
	plain := strings.IndexFunc(q.Value, func(r rune) bool { return !isUnreserved(r) }) < 0
	if plain {
		return q
	}
	var pattern strings.Builder
	for _, r := range q.Value {
		if isUnreserved(r) {
			pattern.WriteString(regexp.QuoteMeta(string(r)))
			continue
		}
		fmt.Fprintf(&pattern, "(?:%s|%s)", literalForm(r), escapedForm(r))
	}
	return model.ValueMatch{Name: q.Name, Value: pattern.String(), Regex: true}
}

// isUnreserved reports the characters that no client escapes (RFC 3986 section 2.3).
func isUnreserved(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-._~", r)
}

func literalForm(r rune) string {
	if r == ' ' {
		return `\+`
	}
	return regexp.QuoteMeta(string(r))
}

// escapedForm matches the bytes of a rune as %XX in either case.
func escapedForm(r rune) string {
	var out strings.Builder
	for _, b := range []byte(string(r)) {
		fmt.Fprintf(&out, "%%(?i:%02x)", b)
	}
	return out.String()
}
