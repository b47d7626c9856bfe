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
	// saw is, by node and key, all that a function saw: its source, and the answers to its reads.
	saw map[string]map[string]string
}

func newOracle(view store.View) *oracle {
	o := &oracle{
		docs: inView[*doc](view, "doc"), svcs: inView[int](view, "svc"), secrets: inView[*store.OnDemand](view, "secret"),
		doubled: map[string]int{}, parts: map[string]string{},
		tagged: map[string]map[string]*doc{}, byPart: map[string]map[string]string{},
		expected: outputs{"faults": {}, "wants": {}, "secret": {}},
		saw:      map[string]map[string]string{},
	}
	o.inputs()
	o.derived()
	return o
}

// runs returns how often the function of each node must run when the old View
// becomes the new one: for each key whose source or answers are not the same.
func runs(from, to *oracle) map[string]int {
	counts := map[string]int{}
	for node, keys := range to.saw {
		for key, saw := range keys {
			if before, had := from.saw[node][key]; !had || before != saw {
				counts[node]++
			}
		}
	}
	return counts
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
	o.expected["resolved"] = printed(compute(o, "resolved", pointers(o.docs), func(w world, key string) (string, bool) {
		return resolve(w, key, o.docs[key])
	}))
	o.expandAndGroup()
	o.expected["answers"] = printed(compute(o, "answers", printed(o.svcs), func(w world, key string) (string, bool) {
		return ask(w, key, o.svcs[key])
	}))
	sums := compute(o, "sums", existing(o.tagged), sum)
	o.expected["sums"] = sums
	o.expected["counts"] = printed(compute(o, "counts", existing(o.byPart), countParts))
	o.expected["lengths"] = map[string]string{}
	for key, v := range sums {
		o.expected["lengths"][key] = fmt.Sprint(len(v))
	}
	o.expected["last"] = compute(o, "last", sums, func(w world, key string) (string, bool) { return last(w, key, len(sums[key])) })
	o.merge()
}

func (o *oracle) merge() {
	merged := maps.Clone(o.expected["answers"])
	maps.Copy(merged, o.expected["resolved"])
	index := map[string]map[string]string{}
	for key, names := range compute(o, "mergedBy", merged, func(_ world, key string) ([]string, bool) { return mergedBuckets(key, merged[key]), true }) {
		put(index, names, key, merged[key])
	}
	o.expected["merged"], o.expected["mergedBy"] = merged, printedBuckets(index)
}

func (o *oracle) expandAndGroup() {
	expanded := compute(o, "parts", pointers(o.docs), func(w world, key string) ([]derive.Item[string], bool) {
		return expand(w, key, o.docs[key]), true
	})
	sources := slices.SortedFunc(maps.Keys(expanded), func(a, b string) int { return len(b) - len(a) })
	for _, source := range sources { // the shortest last, so that it wins
		for _, item := range expanded[source] {
			o.parts[derive.JoinKey(source, item.Key)] = item.Value
		}
	}
	tagged := compute(o, "tagged", pointers(o.docs), func(_ world, key string) ([]string, bool) { return tags(key, o.docs[key]), true })
	for key, names := range tagged {
		put(o.tagged, names, key, o.docs[key])
	}
	byPart := compute(o, "byPart", o.parts, func(_ world, key string) ([]string, bool) { return partBuckets(key, o.parts[key]), true })
	for key, names := range byPart {
		put(o.byPart, names, key, o.parts[key])
	}
	o.expected["parts"] = printed(o.parts)
	o.expected["tagged"], o.expected["byPart"] = printedBuckets(o.tagged), printedBuckets(o.byPart)
}

// compute calls f for every key of src, whose values say when a source is another;
// a panic is a fault of node.
func compute[V any](o *oracle, node string, src map[string]string, f func(w world, key string) (V, bool)) map[string]V {
	m := map[string]V{}
	o.saw[node] = map[string]string{}
	for key, source := range src {
		var seen strings.Builder
		seen.WriteString(source)
		func() {
			defer func() {
				if cause := recover(); cause != nil {
					o.expected["faults"][node+" "+key] = fmt.Sprint(cause)
				}
			}()
			if v, ok := f(o.world(&seen), key); ok {
				m[key] = v
			}
		}()
		o.saw[node][key] = seen.String()
	}
	return m
}

// pointers tells sources apart that are compared by identity.
func pointers(docs map[string]*doc) map[string]string {
	m := map[string]string{}
	for key, d := range docs {
		m[key] = fmt.Sprintf("%p", d)
	}
	return m
}

// existing are the sources of a Reduce.
func existing[V any](index map[string]map[string]V) map[string]string {
	m := map[string]string{}
	for bucket := range index {
		m[bucket] = "exists"
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

// world answers from plain maps and writes the answers down.
func (o *oracle) world(seen *strings.Builder) world {
	return world{
		svc: func(key string) (int, bool) {
			v, ok := o.svcs[key]
			return note(seen, v), note(seen, ok)
		},
		hasSvc: func(key string) bool {
			_, ok := o.svcs[key]
			return note(seen, ok)
		},
		doubled: func(prefix string) []derive.Item[int] { return note(seen, withPrefix(o.doubled, prefix)) },
		secret: func(key string) (string, derive.Presence) {
			fmt.Fprintf(seen, "%p ", o.secrets[key])
			return o.secret(key)
		},
		part:   func(prefix string) []derive.Item[string] { return note(seen, withPrefix(o.parts, prefix)) },
		tagged: plain(seen, o.tagged),
		parts:  plain(seen, o.byPart),
	}
}

// note writes an answer down; pointers in it by identity.
func note[V any](seen *strings.Builder, answer V) V {
	fmt.Fprintf(seen, " → %v", answer)
	return answer
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

func plain[V any](seen *strings.Builder, index map[string]map[string]V) bucket[V] {
	return bucket[V]{
		exists: func(b string) bool { return note(seen, len(index[b]) > 0) },
		size:   func(b string) int { return note(seen, len(index[b])) },
		first: func(b string, k int) []derive.Item[V] {
			all := withPrefix(index[b], "")
			return note(seen, all[:min(k, len(all))])
		},
		keys: func(b string) []string { return note(seen, slices.Sorted(maps.Keys(index[b]))) },
		all:  func(b string) []derive.Item[V] { return note(seen, withPrefix(index[b], "")) },
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
