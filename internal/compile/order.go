package compile

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// rank is the precedence of a match among those of one host. Gateway API orders
// exact paths, then prefixes by length, then methods, then the number of headers,
// then of query parameters, and leaves the place of regular expressions open.
// Here an expression ranks like a prefix as long as the literal text that it
// starts with, and before a prefix of that length: "/v[0-9]+/items" goes before
// the prefix "/", and after "/v1/items".
//
// A match of gRPC calls goes before matches of requests, by the characters of its
// service and then of its method.
type rank struct {
	GRPC         bool
	Exact, Regex bool
	Length       int
	Call         int
	Method       bool
	Headers      int
	Query        int
}

func rankOf(m model.Match) rank {
	r := rank{Method: m.Method != "", Headers: len(m.Headers), Query: len(m.Query)}
	switch m.Path.Kind {
	case model.PathExact:
		r.Exact = true
	case model.PathRegex:
		r.Regex, r.Length = true, len(literalStart(m.Path.Value))
	case model.PathPrefix:
		r.Length = len(m.Path.Value)
	}
	return r
}

// literalStart is the text that every match of an expression starts with.
func literalStart(expression string) string {
	compiled, err := regexp.Compile(strings.TrimPrefix(expression, "^"))
	if err != nil {
		return ""
	}
	literal, _ := compiled.LiteralPrefix()
	return literal
}

// compare is negative when r goes before other.
func (r rank) compare(other rank) int {
	return cmp.Or(
		yesFirst(r.GRPC, other.GRPC),
		yesFirst(r.Exact, other.Exact),
		cmp.Compare(other.Length, r.Length),
		cmp.Compare(other.Call, r.Call),
		yesFirst(r.Regex, other.Regex),
		yesFirst(r.Method, other.Method),
		cmp.Compare(other.Headers, r.Headers),
		cmp.Compare(other.Query, r.Query),
	)
}

func yesFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}
