package derive_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// oracle computes what a State of the test graph must show with plain maps, all
// of it and in the simplest way.
type oracle struct {
	docs     map[string]*doc
	svcs     map[string]int
	secrets  map[string]*store.OnDemand
	doubled  map[string]int
	parts    map[string]string
	tagged   map[string]map[string]*doc
	byPart   map[string]map[string]string
	expected outputs
	wants    map[string]string
}

func expectedOutputs(view store.View) outputs {
	o := oracle{
		docs: inView[*doc](view, "doc"), svcs: inView[int](view, "svc"), secrets: inView[*store.OnDemand](view, "secret"),
		doubled: map[string]int{}, parts: map[string]string{},
		tagged: map[string]map[string]*doc{}, byPart: map[string]map[string]string{},
		expected: outputs{"faults": {}, "wants": {}, "secret": {}},
	}
	o.inputs()
	o.derived()
	return o.expected
}

func inView[V any](view store.View, collection string) map[string]V {
	m := map[string]V{}
	for key, v := range view.Prefix(collection, "") {
		m[key] = v.(V)
	}
	return m
}

func (o *oracle) inputs() {
	for key, v := range o.svcs {
		o.doubled[key] = 2 * v
	}
	for key, v := range o.secrets {
		o.expected["secret"][key] = v.Meta().(string)
	}
	o.expected["svc"], o.expected["doubled"] = printed(o.svcs), printed(o.doubled)
}

func (o *oracle) derived() {
	w := o.world()
	o.expected["resolved"] = printed(compute(o, "resolved", o.docs, func(key string) (string, bool) {
		return resolve(w, key, o.docs[key])
	}))
	o.expandAndGroup(w)
	o.expected["answers"] = printed(compute(o, "answers", o.svcs, func(key string) (string, bool) {
		return ask(w, key, o.svcs[key])
	}))
	sums := compute(o, "sums", o.tagged, func(tag string) (string, bool) { return sum(w, tag) })
	o.expected["sums"] = printed(sums)
	o.expected["counts"] = printed(compute(o, "counts", o.byPart, func(b string) (int, bool) { return countParts(w, b) }))
	o.expected["lengths"] = printed(compute(o, "", sums, func(key string) (int, bool) { return len(sums[key]), true }))
	o.expected["last"] = printed(compute(o, "last", sums, func(key string) (string, bool) { return last(w, key, len(sums[key])) }))
}

func (o *oracle) expandAndGroup(w world) {
	expanded := compute(o, "parts", o.docs, func(key string) ([]derive.Item[string], bool) {
		return expand(w, key, o.docs[key]), true
	})
	sources := slices.SortedFunc(maps.Keys(expanded), func(a, b string) int { return len(b) - len(a) })
	for _, source := range sources { // the shortest last, so that it wins
		for _, item := range expanded[source] {
			o.parts[derive.JoinKey(source, item.Key)] = item.Value
		}
	}
	for key, names := range compute(o, "tagged", o.docs, func(key string) ([]string, bool) { return tags(key, o.docs[key]), true }) {
		put(o.tagged, names, key, o.docs[key])
	}
	for key, v := range o.parts {
		put(o.byPart, partBuckets(key, v), key, v)
	}
	o.expected["parts"] = printed(o.parts)
	o.expected["tagged"], o.expected["byPart"] = printedBuckets(o.tagged), printedBuckets(o.byPart)
}

// compute calls f for every key of src; a panic is a fault of node.
func compute[S, V any](o *oracle, node string, src map[string]S, f func(key string) (V, bool)) map[string]V {
	m := map[string]V{}
	for key := range src {
		func() {
			defer func() {
				if cause := recover(); cause != nil {
					o.expected["faults"][node+" "+key] = fmt.Sprint(cause)
				}
			}()
			if v, ok := f(key); ok {
				m[key] = v
			}
		}()
	}
	return m
}

func put[V any](index map[string]map[string]V, names []string, key string, v V) {
	for _, name := range names {
		if index[name] == nil {
			index[name] = map[string]V{}
		}
		index[name][key] = v
	}
}

func (o *oracle) world() world {
	return world{
		svc:     func(key string) (int, bool) { v, ok := o.svcs[key]; return v, ok },
		hasSvc:  func(key string) bool { _, ok := o.svcs[key]; return ok },
		doubled: func(prefix string) []derive.Item[int] { return withPrefix(o.doubled, prefix) },
		secret:  o.secret,
		part:    func(prefix string) []derive.Item[string] { return withPrefix(o.parts, prefix) },
		tagged:  plain(o.tagged),
		parts:   plain(o.byPart),
	}
}

func (o *oracle) secret(key string) (string, derive.Presence) {
	v, ok := o.secrets[key]
	if !ok {
		return "", derive.Absent
	}
	if body, ok := v.Body(); ok {
		return body.(string), derive.Present
	}
	o.expected["wants"]["secret "+key] = ""
	return "", derive.Unread
}

func plain[V any](index map[string]map[string]V) bucket[V] {
	return bucket[V]{
		exists: func(b string) bool { return len(index[b]) > 0 },
		size:   func(b string) int { return len(index[b]) },
		first: func(b string, k int) []derive.Item[V] {
			all := withPrefix(index[b], "")
			return all[:min(k, len(all))]
		},
		keys: func(b string) []string { return slices.Sorted(maps.Keys(index[b])) },
		all:  func(b string) []derive.Item[V] { return withPrefix(index[b], "") },
	}
}

func withPrefix[V any](m map[string]V, prefix string) []derive.Item[V] {
	var items []derive.Item[V]
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if strings.HasPrefix(key, prefix) {
			items = append(items, derive.Item[V]{Key: key, Value: m[key]})
		}
	}
	return items
}

func printed[V any](m map[string]V) map[string]string {
	p := map[string]string{}
	for key, v := range m {
		p[key] = fmt.Sprintf("%+v", v)
	}
	return p
}

func printedBuckets[V any](index map[string]map[string]V) map[string]string {
	p := map[string]string{}
	for name, members := range index {
		p[name] = show(withPrefix(members, ""))
	}
	return p
}
