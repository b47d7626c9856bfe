package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/translate/envoy"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// scoped is a resource and the group of proxies it is for.
type scoped = xdsserve.Scoped

// resources are what the object's accepted revision contributes to.
func (j join) resources() []scoped {
	var out []scoped
	for _, index := range j.reporter.graph.byOrigin {
		for _, output := range derive.Bucket(j.at.state, index, envoy.Origin(j.key)) {
			out = append(out, scoped{Group: output.Resource.Group, Name: output.Resource.Name})
		}
	}
	slices.SortFunc(out, compareScoped)
	return out
}

func compareScoped(a, b scoped) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name.Name, b.Name.Name))
}

func names(resources []scoped) []verdict.Resource {
	out := make([]verdict.Resource, 0, len(resources))
	for _, r := range resources {
		out = append(out, verdict.Resource{Type: ShortType(r.Type), Name: r.Name.Name})
	}
	slices.SortFunc(out, func(a, b verdict.Resource) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(out)
}

// ShortType is the last part of a type URL.
func ShortType(t xdsserve.Type) string { return t.Short() }

func translated(resources []scoped) verdict.Step {
	count := map[string]int{}
	var order []string
	for _, r := range resources {
		short := ShortType(r.Type)
		if count[short] == 0 {
			order = append(order, short)
		}
		count[short]++
	}
	parts := make([]string, 0, len(order))
	for _, short := range order {
		parts = append(parts, fmt.Sprintf("%d %s", count[short], plural(noun(short), count[short])))
	}
	return verdict.Translated.Step(verdict.Translate, verdict.OK, "part of "+strings.Join(parts, ", "))
}

// noun is the operator's word for a resource type.
func noun(short string) string {
	switch short {
	case "RouteConfiguration":
		return "route table"
	case "ScopedRouteConfiguration":
		return "route scope"
	case "ClusterLoadAssignment":
		return "endpoint set"
	case "Secret":
		return "certificate"
	default:
		return strings.ToLower(short)
	}
}

func plural(word string, n int) string {
	if n == 1 {
		return word
	}
	return word + "s"
}
