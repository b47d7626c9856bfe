package envoy

import (
	"regexp"

	envoy_matcher_v3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// pathChange is how Envoy changes a path; at most one field is set, and none
// where the path stays as it is.
type pathChange struct {
	// Full is the whole new path.
	Full string
	// Prefix takes the place of the text that the route's match consumed.
	Prefix string
	// Regex is replaced by Envoy's substitution.
	Regex *envoy_matcher_v3.RegexMatchAndSubstitute
}

// editPath chooses the change that gives Gateway API's results. Envoy replaces
// text where Gateway API replaces path elements, so a prefix needs care at both
// ends:
//
//	match  replacement  request   result
//	/foo   /xyz         /foo/bar  /xyz/bar  text works
//	/foo   / or empty   /foo/bar  /bar      text would give //bar
//	/foo   / or empty   /foo      /         text would give an empty path
//	/      /xyz         /bar      /xyz/bar  text would give /xyzbar
func editPath(match model.PathMatch, e model.PathEdit) (pathChange, error) {
	if !e.Prefix {
		if e.Value == "" {
			return pathChange{Full: "/"}, nil
		}
		return pathChange{Full: e.Value}, checkPath("value", e.Value)
	}
	if match.Kind != model.PathPrefix && match != (model.PathMatch{}) {
		return pathChange{}, faultf("value", e.Value, "a matched prefix can only be replaced where the match is a path prefix, and it is %s %q", match.Kind, match.Value)
	}
	elements, replacement := trimSlashes(match.Value), trimSlashes(e.Value)
	if replacement != "" {
		if err := checkPath("value", replacement); err != nil {
			return pathChange{}, err
		}
	}
	return editPrefix(elements, replacement), nil
}

// editPrefix takes a prefix and its replacement without their trailing slashes.
func editPrefix(elements, replacement string) pathChange {
	switch {
	case elements == "" && replacement == "":
		return pathChange{}
	case elements == "":
		return pathChange{Prefix: replacement + "/"}
	case replacement == "":
		return pathChange{Regex: &envoy_matcher_v3.RegexMatchAndSubstitute{
			Pattern: regex("^" + regexp.QuoteMeta(elements) + "/*"), Substitution: "/",
		}}
	}
	return pathChange{Prefix: replacement}
}
