package compile

import (
	"testing"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

func TestReadMatch(t *testing.T) {
	for _, c := range []struct {
		name string
		spec gateway_v1.HTTPRouteMatch
		want model.Match
		// problem is the field and message of what is wrong.
		problem string
	}{
		{name: "nothing matches everything", want: path(model.PathPrefix, "/")},
		{
			name: "a trailing slash of a prefix means nothing",
			spec: gateway_v1.HTTPRouteMatch{Path: &gateway_v1.HTTPPathMatch{Value: new("/a/")}},
			want: path(model.PathPrefix, "/a"),
		},
		{
			name: "a trailing slash of an exact path does",
			spec: gateway_v1.HTTPRouteMatch{Path: &gateway_v1.HTTPPathMatch{Type: new(gateway_v1.PathMatchExact), Value: new("/a/")}},
			want: path(model.PathExact, "/a/"),
		},
		{
			name:    "an expression that RE2 refuses",
			spec:    gateway_v1.HTTPRouteMatch{Path: &gateway_v1.HTTPPathMatch{Type: new(gateway_v1.PathMatchRegularExpression), Value: new("/(")}},
			problem: `f.path.value: "/(": invalid regular expression: missing closing ); use RE2 syntax`,
		},
		{
			name:    "look-ahead is not RE2",
			spec:    gateway_v1.HTTPRouteMatch{Headers: []gateway_v1.HTTPHeaderMatch{{Name: "a", Type: new(gateway_v1.HeaderMatchRegularExpression), Value: "(?=a)"}}},
			problem: `f.headers[0].value: "(?=a)": invalid regular expression: invalid or unsupported Perl syntax in (?=; use RE2 syntax`,
		},
		{
			name:    "a relative path",
			spec:    gateway_v1.HTTPRouteMatch{Path: &gateway_v1.HTTPPathMatch{Value: new("a")}},
			problem: `f.path.value: "a": a path must start with /`,
		},
		{
			name: "of headers with one name the first counts, in any case; order means nothing",
			spec: gateway_v1.HTTPRouteMatch{Headers: []gateway_v1.HTTPHeaderMatch{{Name: "X-B", Value: "1"}, {Name: "X-A", Value: "2"}, {Name: "x-b", Value: "3"}}},
			want: model.Match{
				Path:    model.PathMatch{Kind: model.PathPrefix, Value: "/"},
				Headers: []model.ValueMatch{{Name: "x-a", Value: "2"}, {Name: "x-b", Value: "1"}},
			},
		},
		{
			name: "query parameters mind case",
			spec: gateway_v1.HTTPRouteMatch{QueryParams: []gateway_v1.HTTPQueryParamMatch{{Name: "Q", Value: "1"}, {Name: "q", Value: "2"}}, Method: new(gateway_v1.HTTPMethodGet)},
			want: model.Match{
				Path: model.PathMatch{Kind: model.PathPrefix, Value: "/"}, Method: "GET",
				Query: []model.ValueMatch{{Name: "Q", Value: "1"}, {Name: "q", Value: "2"}},
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, why := readMatch("f", c.spec)
			if why != nil || c.problem != "" {
				equal(t, why.sentence(), c.problem)
				return
			}
			equal(t, got, c.want)
		})
	}
}
