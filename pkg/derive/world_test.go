package derive_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// doc is what the documents of the test graph are: instructions for its functions.
type doc struct {
	Refs   []string // services to read
	Prefix string   // of services to read
	Secret string   // whose body to read
	Tags   []string // to be grouped by; "boom" panics
	Items  []string // to expand to
	Boom   string   // a service at whose existence to panic
	Hidden bool     // no value
}

// world answers the reads of the functions under test: from a derive.Ctx, or from plain maps.
type world struct {
	svc     func(key string) (int, bool)
	hasSvc  func(key string) bool
	doubled func(prefix string) []derive.Item[int]
	secret  func(key string) (string, derive.Presence)
	part    func(prefix string) []derive.Item[string]
	tagged  bucket[*doc]
	parts   bucket[string]
}

// bucket answers the five questions about a bucket.
type bucket[V any] struct {
	exists func(b string) bool
	size   func(b string) int
	first  func(b string, k int) []derive.Item[V]
	keys   func(b string) []string
	all    func(b string) []derive.Item[V]
}

// ask asks one of the questions about a bucket.
func (b bucket[V]) ask(question int, name string) string {
	switch question % 6 {
	case 0:
		return fmt.Sprint(b.exists(name))
	case 1:
		return fmt.Sprint(b.size(name))
	case 2:
		return show(b.first(name, 1))
	case 3:
		return show(b.first(name, 2))
	case 4:
		return fmt.Sprint(b.keys(name))
	default:
		return show(b.all(name))
	}
}

func show[V any](items []derive.Item[V]) string {
	var b strings.Builder
	for _, i := range items {
		fmt.Fprintf(&b, "%s=%+v;", i.Key, i.Value)
	}
	return b.String()
}

// The functions of the test graph.

func resolve(w world, _ string, d *doc) (string, bool) {
	if d.Boom != "" && w.hasSvc(d.Boom) {
		panic("boom at " + d.Boom)
	}
	var b strings.Builder
	for _, ref := range d.Refs {
		v, ok := w.svc(ref)
		fmt.Fprint(&b, ref, v, ok, " ")
		if v == 3 { // then what else is read differs
			return b.String(), true
		}
	}
	if d.Prefix != "" {
		fmt.Fprint(&b, show(w.doubled(d.Prefix)))
	}
	if d.Secret != "" {
		body, presence := w.secret(d.Secret)
		fmt.Fprint(&b, body, presence)
	}
	return b.String(), !d.Hidden
}

func expand(w world, _ string, d *doc) []derive.Item[string] {
	var items []derive.Item[string]
	for _, item := range d.Items {
		items = append(items, derive.Item[string]{Key: item, Value: fmt.Sprint("part ", w.hasSvc(item))})
	}
	return items
}

func tags(_ string, d *doc) []string {
	if slices.Contains(d.Tags, "boom") {
		panic("boom tag")
	}
	return d.Tags
}

func ask(w world, key string, v int) (string, bool) {
	return w.tagged.ask(v, "t"+key[:1]) + " " + w.parts.ask(v+1, "p"), v != 4
}

func sum(w world, tag string) (string, bool) {
	v, _ := w.svc(tag[1:])
	return w.tagged.ask(v+2, tag), true
}

func partBuckets(key, v string) []string { return []string{"p", v} }

func countParts(w world, bucket string) (int, bool) {
	n := w.parts.size(bucket)
	return n, n != 2
}

func last(w world, _ string, n int) (string, bool) {
	return fmt.Sprint(n, show(w.part("a"))), true
}

func mergedBuckets(key, v string) []string { return []string{key[:1], fmt.Sprint(len(v))} }

// laws is the test graph.
type laws struct {
	graph    *derive.Graph
	docs     derive.Collection[*doc]
	svcs     derive.Collection[int]
	secrets  derive.Collection[string]
	doubled  derive.Collection[int]
	resolved derive.Collection[string]
	parts    derive.Collection[string]
	tagged   derive.Index[*doc]
	byPart   derive.Index[string]
	answers  derive.Collection[string]
	sums     derive.Collection[string]
	counts   derive.Collection[int]
	lengths  derive.Collection[int]
	last     derive.Collection[string]
	merged   derive.Collection[string]
	mergedBy derive.Index[string]
}

func newLaws() laws {
	g := derive.New()
	l := laws{graph: g}
	l.docs = derive.Input[*doc](g, "doc")
	l.svcs = derive.Input[int](g, "svc")
	l.secrets = derive.Input[string](g, "secret")
	l.doubled = derive.Project(g, "doubled", l.svcs, func(_ string, v int) int { return 2 * v })
	l.resolved = derive.Map(g, "resolved", l.docs, func(c *derive.Ctx, key string, d *doc) (string, bool) {
		return resolve(l.world(c), key, d)
	})
	l.parts = derive.Expand(g, "parts", l.docs, func(c *derive.Ctx, key string, d *doc) []derive.Item[string] {
		return expand(l.world(c), key, d)
	})
	l.tagged = derive.Group(g, "tagged", l.docs, tags)
	l.byPart = derive.Group(g, "byPart", l.parts, partBuckets)
	l.answers = derive.Map(g, "answers", l.svcs, func(c *derive.Ctx, key string, v int) (string, bool) {
		return ask(l.world(c), key, v)
	})
	l.sums = derive.Reduce(g, "sums", l.tagged, func(c *derive.Ctx, tag string) (string, bool) {
		return sum(l.world(c), tag)
	})
	l.counts = derive.Reduce(g, "counts", l.byPart, func(c *derive.Ctx, bucket string) (int, bool) {
		return countParts(l.world(c), bucket)
	})
	l.lengths = derive.Project(g, "lengths", l.sums, func(_, v string) int { return len(v) })
	l.last = derive.Map(g, "last", l.lengths, func(c *derive.Ctx, key string, n int) (string, bool) {
		return last(l.world(c), key, n)
	})
	l.merged = derive.Merge(g, "merged", l.resolved, l.answers)
	l.mergedBy = derive.Group(g, "mergedBy", l.merged, mergedBuckets)
	return l
}

func (l *laws) world(c *derive.Ctx) world {
	return world{
		svc:     func(key string) (int, bool) { return derive.Get(c, l.svcs, key) },
		hasSvc:  func(key string) bool { return derive.Has(c, l.svcs, key) },
		doubled: func(prefix string) []derive.Item[int] { return derive.Prefix(c, l.doubled, prefix) },
		secret:  func(key string) (string, derive.Presence) { return derive.Body(c, l.secrets, key) },
		part:    func(prefix string) []derive.Item[string] { return derive.Prefix(c, l.parts, prefix) },
		tagged:  read(c, l.tagged),
		parts:   read(c, l.byPart),
	}
}

func read[V any](c *derive.Ctx, index derive.Index[V]) bucket[V] {
	return bucket[V]{
		exists: func(b string) bool { return derive.Exists(c, index, b) },
		size:   func(b string) int { return derive.Size(c, index, b) },
		first:  func(b string, k int) []derive.Item[V] { return derive.First(c, index, b, k) },
		keys:   func(b string) []string { return derive.Keys(c, index, b) },
		all:    func(b string) []derive.Item[V] { return derive.All(c, index, b) },
	}
}

// outputs are all that a State of the test graph shows, by collection or index.
type outputs map[string]map[string]string

func (o outputs) String() string {
	var b strings.Builder
	for _, of := range slices.Sorted(maps.Keys(o)) {
		for _, key := range slices.Sorted(maps.Keys(o[of])) {
			fmt.Fprintf(&b, "%s %s = %s\n", of, key, o[of][key])
		}
	}
	return b.String()
}

func (l *laws) outputs(s derive.State) outputs {
	o := outputs{
		"svc": values(s, l.svcs), "secret": values(s, l.secrets), "doubled": values(s, l.doubled),
		"resolved": values(s, l.resolved), "parts": values(s, l.parts), "answers": values(s, l.answers),
		"sums": values(s, l.sums), "counts": values(s, l.counts), "lengths": values(s, l.lengths),
		"last": values(s, l.last), "tagged": buckets(s, l.tagged), "byPart": buckets(s, l.byPart),
		"merged": values(s, l.merged), "mergedBy": buckets(s, l.mergedBy),
		"faults": {}, "wants": {},
	}
	for _, f := range s.Faults() {
		o["faults"][f.Node+" "+f.Key] = fmt.Sprint(f.Panic)
	}
	for _, k := range s.Wants() {
		o["wants"][k.String()] = ""
	}
	return o
}

func values[V any](s derive.State, c derive.Collection[V]) map[string]string {
	m := map[string]string{}
	for key, v := range derive.Items(s, c) {
		m[key] = fmt.Sprintf("%+v", v)
	}
	return m
}

func buckets[V any](s derive.State, x derive.Index[V]) map[string]string {
	m := map[string]string{}
	for b := range derive.Buckets(s, x) {
		for key, v := range derive.Bucket(s, x, b) {
			m[b] += fmt.Sprintf("%s=%+v;", key, v)
		}
	}
	return m
}
