package compile

import (
	"strings"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// readEdit reads a header modifier. Names ignore case; of several entries with one
// name the first counts.
func readEdit(field string, spec gateway_v1.HTTPHeaderFilter) (model.HeaderEdit, *problem) {
	var out model.HeaderEdit
	var why *problem
	for i, name := range spec.Remove {
		out.Remove = append(out.Remove, strings.ToLower(name))
		why = first(why, faulty(indexed(field+".remove", i), name, model.EditedHeaderFault(name)))
	}
	out.Remove = inOrderOnce(out.Remove)
	set, inSet := readEntries(field+".set", spec.Set)
	add, inAdd := readEntries(field+".add", spec.Add)
	out.Set, out.Add = set, add
	return out, first(why, inSet, inAdd)
}

func readEntries(field string, specs []gateway_v1.HTTPHeader) ([]model.Header, *problem) {
	var out []model.Header
	var why *problem
	seen := map[string]bool{}
	for i, spec := range specs {
		name, at := strings.ToLower(string(spec.Name)), indexed(field, i)
		why = first(why,
			faulty(at+".name", string(spec.Name), model.EditedHeaderFault(name)),
			faulty(at+".value", spec.Value, model.HeaderValueFault(spec.Value)))
		if !seen[name] {
			out = append(out, model.Header{Name: name, Value: spec.Value})
		}
		seen[name] = true
	}
	return out, why
}

// readRewrite reads a URLRewrite filter.
func readRewrite(field string, spec gateway_v1.HTTPURLRewriteFilter) (*model.Rewrite, *problem) {
	path, why := readPathEdit(field+".path", spec.Path)
	name, inName := newHostname(field+".hostname", spec.Hostname)
	return &model.Rewrite{Hostname: name, Path: path}, first(inName, why)
}

// newHostname reads the host name that takes the place of a request's.
func newHostname(field string, spec *gateway_v1.PreciseHostname) (string, *problem) {
	if spec == nil {
		return "", nil
	}
	name := strings.ToLower(string(*spec))
	return name, hostname(field, name, false)
}

func readPathEdit(field string, spec *gateway_v1.HTTPPathModifier) (*model.PathEdit, *problem) {
	if spec == nil {
		return nil, nil
	}
	switch spec.Type {
	case gateway_v1.FullPathHTTPPathModifier:
		value := orElse(spec.ReplaceFullPath, "")
		return &model.PathEdit{Value: value}, newPath(field+".replaceFullPath", value)
	case gateway_v1.PrefixMatchHTTPPathModifier:
		value := orElse(spec.ReplacePrefixMatch, "")
		return &model.PathEdit{Prefix: true, Value: value}, newPath(field+".replacePrefixMatch", value)
	default:
		return nil, faulty(field+".type", string(spec.Type), "must be ReplaceFullPath or ReplacePrefixMatch")
	}
}

// newPath checks what takes the place of a path, or of a part of it; an empty one is "/".
func newPath(field, value string) *problem {
	if value == "" {
		return nil
	}
	return urlPath(field, value)
}
