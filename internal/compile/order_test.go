package compile

import (
	"slices"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

func path(kind model.PathKind, value string) model.Match {
	return model.Match{Path: model.PathMatch{Kind: kind, Value: value}}
}

func TestPrecedenceOfMatches(t *testing.T) {
	header := []model.ValueMatch{{Name: "a", Value: "1"}}
	two := []model.ValueMatch{{Name: "a", Value: "1"}, {Name: "b", Value: "1"}}
	withMethod, withHeader, withTwo, withQuery := path(model.PathPrefix, "/v1"), path(model.PathPrefix, "/v1"), path(model.PathPrefix, "/v1"), path(model.PathPrefix, "/v1")
	withMethod.Method, withHeader.Headers, withTwo.Headers, withQuery.Query = "GET", header, two, two
	exactShort := path(model.PathExact, "/")
	order := []struct {
		name  string
		match model.Match
	}{
		{"an exact path, however short", exactShort},
		{"the longer prefix", path(model.PathPrefix, "/v1/items")},
		{"an expression before a prefix as long as its literal start", path(model.PathRegex, "^/v1[0-9]*")},
		{"a method before headers", withMethod},
		{"more headers", withTwo},
		{"fewer headers, before query parameters", withHeader},
		{"query parameters", withQuery},
		{"a prefix alone", path(model.PathPrefix, "/v1")},
		{"an expression with a short literal start", path(model.PathRegex, "/.*/items")},
		{"the prefix that matches everything", path(model.PathPrefix, "/")},
		{"an expression without a literal start", path(model.PathRegex, ".*")},
	}
	shuffled := slices.Clone(order)
	slices.Reverse(shuffled)
	slices.SortStableFunc(shuffled, func(a, b struct {
		name  string
		match model.Match
	},
	) int {
		return rankOf(a.match).compare(rankOf(b.match))
	})
	for i := range order {
		if shuffled[i].name != order[i].name {
			t.Errorf("place %d has %q, want %q", i, shuffled[i].name, order[i].name)
		}
	}
}
