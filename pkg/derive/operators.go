package derive

import (
	"fmt"
	"reflect"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Option tunes a derived collection.
type Option[V any] func(*options[V])

type options[V any] struct {
	equal func(a, b V) bool
	bytes func(V) int
}

// EqualFunc sets how values are compared to stop propagation. The default is the
// value's own Equal method where it has one, else reflect.DeepEqual. Of two equal
// values the older is kept.
func EqualFunc[V any](equal func(a, b V) bool) Option[V] {
	return func(o *options[V]) { o.equal = equal }
}

// BytesFunc counts a produced value in Work.Bytes.
func BytesFunc[V any](size func(V) int) Option[V] { return func(o *options[V]) { o.bytes = size } }

// Input is a collection of the View, by its name there. Values that are neither of
// type V nor [*store.OnDemand] values with metadata and body of type V are a
// programming error: Eval panics.
func Input[V any](g *Graph, collection string) Collection[V] {
	return Collection[V]{g.add(&node{name: collection, kind: inputNode, check: checkInput[V]})}
}

func checkInput[V any](v any) error {
	values := []any{v}
	if o, ok := v.(*store.OnDemand); ok {
		values[0] = o.Meta()
		if body, read := o.Body(); read {
			values = append(values, body)
		}
	}
	for _, v := range values {
		if _, ok := v.(V); !ok {
			return fmt.Errorf("is a %T, and the graph reads it as %s", v, reflect.TypeFor[V]())
		}
	}
	return nil
}

// Map derives one value per key of src, or none where f returns false.
func Map[S, V any](g *Graph, name string, src Collection[S], f func(c *Ctx, key string, src S) (V, bool), opts ...Option[V]) Collection[V] {
	n := derived(name, mapNode, src.node, opts)
	n.mapper = func(c *Ctx, key string, src any) (any, bool) { return f(c, key, as[S](src)) }
	return Collection[V]{g.add(n)}
}

// Expand derives any number of values per key of src. The key of each is
// JoinKey(source key, item key); item keys are unique within one call. Where two
// source keys make the same joined key, the shorter source key has it.
func Expand[S, V any](g *Graph, name string, src Collection[S], f func(c *Ctx, key string, src S) []Item[V], opts ...Option[V]) Collection[V] {
	n := derived(name, expandNode, src.node, opts)
	n.expand = func(c *Ctx, key string, src any) []Item[any] {
		items := f(c, key, as[S](src))
		boxed := make([]Item[any], len(items))
		for i, item := range items {
			boxed[i] = Item[any]{item.Key, item.Value}
		}
		return boxed
	}
	return Collection[V]{g.add(n)}
}

// JoinKey is the key of an expanded value: source, "|", item.
func JoinKey(source, item string) string { return source + "|" + item }

// Group indexes src: each value is a member of the buckets that f names (each at most once). f is
// pure and reads nothing else.
func Group[S any](g *Graph, name string, src Collection[S], f func(key string, v S) []string) Index[S] {
	return Index[S]{g.add(&node{
		name: name, kind: groupNode, src: src.node,
		buckets: func(key string, v any) []string { return f(key, as[S](v)) },
	})}
}

// Reduce derives one value per bucket that has members, or none where f returns false. f reads
// the bucket through Exists, Size, First, Keys or All.
func Reduce[S, V any](g *Graph, name string, src Index[S], f func(c *Ctx, bucket string) (V, bool), opts ...Option[V]) Collection[V] {
	n := derived(name, reduceNode, src.node, opts)
	n.reduce = func(c *Ctx, bucket string) (any, bool) { return f(c, bucket) }
	return Collection[V]{g.add(n)}
}

// Project is a view of src that is computed when read: no reads, no storage, no function counted.
// Its values change when and only when those of src do. Where f panics, the
// function that reads the value faults; read from a State, there is no value.
func Project[S, V any](g *Graph, name string, src Collection[S], f func(key string, v S) V) Collection[V] {
	return Collection[V]{g.add(&node{
		name: name, kind: projectNode, src: src.node,
		project: func(key string, v any) any { return f(key, as[S](v)) },
	})}
}

func derived[V any](name string, k kind, src *node, opts []Option[V]) *node {
	var o options[V]
	for _, opt := range opts {
		opt(&o)
	}
	n := &node{name: name, kind: k, src: src, equal: equality(o.equal)}
	if o.bytes != nil {
		n.bytes = func(v any) int { return o.bytes(as[V](v)) }
	}
	return n
}

// as unboxes a value of a collection. A nil interface value is boxed as nil.
func as[V any](v any) V {
	typed, _ := v.(V)
	return typed
}
