package derive

import "github.com/gatehouse-proxy/gatehouse/pkg/store"

// Graph is the fixed set of collections and how each is derived. Build it once,
// from one goroutine; then it is immutable and may be evaluated from any number.
type Graph struct{}

// New returns an empty Graph.
func New() *Graph { panic("todo") }

// Collection is a handle on a keyed set of values of type V. Keys are ordered bytewise.
type Collection[V any] struct{ id int }

// Index is a handle on a collection grouped into buckets.
type Index[V any] struct{ id int }

// Item is one keyed value.
type Item[V any] struct {
	Key   string
	Value V
}

// Input is a collection of the View, by its name there. Values that are not of type V are a
// programming error.
func Input[V any](g *Graph, collection string) Collection[V] { panic("todo") }

// Option tunes a derived collection.
type Option[V any] func(*options[V])

type options[V any] struct {
	equal func(a, b V) bool
	bytes func(V) int
}

// EqualFunc sets how values are compared to stop propagation. The default is the
// value's own Equal method where it has one, else reflect.DeepEqual.
func EqualFunc[V any](equal func(a, b V) bool) Option[V] {
	return func(o *options[V]) { o.equal = equal }
}

// BytesFunc counts a produced value in Work.Bytes.
func BytesFunc[V any](size func(V) int) Option[V] { return func(o *options[V]) { o.bytes = size } }

// Map derives one value per key of src, or none where f returns false.
func Map[S, V any](g *Graph, name string, src Collection[S], f func(c *Ctx, key string, src S) (V, bool), opts ...Option[V]) Collection[V] {
	panic("todo")
}

// Expand derives any number of values per key of src. The key of each is
// JoinKey(source key, item key); item keys are unique within one call.
func Expand[S, V any](g *Graph, name string, src Collection[S], f func(c *Ctx, key string, src S) []Item[V], opts ...Option[V]) Collection[V] {
	panic("todo")
}

// JoinKey is the key of an expanded value: source, "|", item.
func JoinKey(source, item string) string { return source + "|" + item }

// Group indexes src: each value is a member of the buckets that f names (each at most once). f is
// pure and reads nothing else.
func Group[S any](g *Graph, name string, src Collection[S], f func(key string, v S) []string) Index[S] {
	panic("todo")
}

// Reduce derives one value per bucket that has members, or none where f returns false. f reads
// the bucket through Exists, Size, First or All.
func Reduce[S, V any](g *Graph, name string, src Index[S], f func(c *Ctx, bucket string) (V, bool), opts ...Option[V]) Collection[V] {
	panic("todo")
}

// Project is a view of src that is computed when read: no reads, no storage, no function counted.
// Its values change when and only when those of src do.
func Project[S, V any](g *Graph, name string, src Collection[S], f func(key string, v S) V) Collection[V] {
	panic("todo")
}

var _ store.Key
