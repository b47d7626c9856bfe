package envoy

import (
	"slices"
	"strconv"
	"strings"

	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// headerEdits are Filters in Envoy's words. Envoy removes first and then sets
// and adds in order, as a HeaderEdit means it.
type headerEdits struct {
	requestRemove, responseRemove []string
	requestAdd, responseAdd       []*envoy_core_v3.HeaderValueOption
}

func (e headerEdits) onRoute(r *envoy_route_v3.Route) {
	r.RequestHeadersToRemove, r.ResponseHeadersToRemove = e.requestRemove, e.responseRemove
	r.RequestHeadersToAdd, r.ResponseHeadersToAdd = e.requestAdd, e.responseAdd
}

func (e headerEdits) onShare(w *envoy_route_v3.WeightedCluster_ClusterWeight) {
	w.RequestHeadersToRemove, w.ResponseHeadersToRemove = e.requestRemove, e.responseRemove
	w.RequestHeadersToAdd, w.ResponseHeadersToAdd = e.requestAdd, e.responseAdd
}

func (e headerEdits) isZero() bool {
	return len(e.requestRemove)+len(e.responseRemove)+len(e.requestAdd)+len(e.responseAdd) == 0
}

// then returns the edits that do what e does and then what o does. What o
// removes, e need not set: removals come first in Envoy.
func (e headerEdits) then(o headerEdits) headerEdits {
	return headerEdits{
		requestRemove:  union(e.requestRemove, o.requestRemove),
		responseRemove: union(e.responseRemove, o.responseRemove),
		requestAdd:     append(without(e.requestAdd, o.requestRemove), o.requestAdd...),
		responseAdd:    append(without(e.responseAdd, o.responseRemove), o.responseAdd...),
	}
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, name := range b {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func without(headers []*envoy_core_v3.HeaderValueOption, names []string) []*envoy_core_v3.HeaderValueOption {
	return slices.DeleteFunc(slices.Clone(headers), func(h *envoy_core_v3.HeaderValueOption) bool {
		return slices.Contains(names, h.GetHeader().GetKey())
	})
}

func translateFilters(f model.Filters) (headerEdits, error) {
	var out headerEdits
	var err error
	if out.requestRemove, out.requestAdd, err = translateEdit(f.Request); err != nil {
		return headerEdits{}, within("request", err)
	}
	if out.responseRemove, out.responseAdd, err = translateEdit(f.Response); err != nil {
		return headerEdits{}, within("response", err)
	}
	return out, nil
}

func translateEdit(e model.HeaderEdit) (remove []string, add []*envoy_core_v3.HeaderValueOption, err error) {
	for i, name := range e.Remove {
		if err := checkEdited("remove["+strconv.Itoa(i)+"]", name); err != nil {
			return nil, nil, err
		}
		remove = append(remove, strings.ToLower(name))
	}
	if add, err = appendHeaders(add, "set", e.Set, envoy_core_v3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD); err != nil {
		return nil, nil, err
	}
	add, err = appendHeaders(add, "add", e.Add, envoy_core_v3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD)
	return remove, add, err
}

func appendHeaders(out []*envoy_core_v3.HeaderValueOption, field string, headers []model.Header, how envoy_core_v3.HeaderValueOption_HeaderAppendAction) ([]*envoy_core_v3.HeaderValueOption, error) {
	for i, h := range headers {
		at := field + "[" + strconv.Itoa(i) + "]"
		if err := checkEdited(at+".name", h.Name); err != nil {
			return nil, err
		}
		if err := checkHeaderValue(at+".value", h.Value); err != nil {
			return nil, err
		}
		out = append(out, &envoy_core_v3.HeaderValueOption{
			Header:         &envoy_core_v3.HeaderValue{Key: strings.ToLower(h.Name), Value: literal(h.Value)},
			AppendAction:   how,
			KeepEmptyValue: true,
		})
	}
	return out, nil
}

// literal keeps Envoy from expanding a text: in the fields that it expands, a
// percent sign starts a command and two of them are one.
func literal(text string) string { return strings.ReplaceAll(text, "%", "%%") }
