package derive

import "reflect"

// Option tunes a derived collection.
type Option[V any] func(*options[V])

type options[V any] struct {
	equal func(a, b V) bool
	bytes func(V) int
}

// EqualFunc sets how values are compared to stop propagation. The default is the
// value's own Equal method where it has one, else reflect.DeepEqual. Of two equal
// values the older is kept. A comparison that panics counts as a difference.
func EqualFunc[V any](equal func(a, b V) bool) Option[V] {
	return func(o *options[V]) { o.equal = equal }
}

// BytesFunc counts a produced value in Work.Bytes.
func BytesFunc[V any](size func(V) int) Option[V] { return func(o *options[V]) { o.bytes = size } }

// derived returns a node with the options for values of type V.
func derived[V any](name string, k kind, src *node, opts []Option[V]) *node {
	o := options[V]{equal: defaultEqual[V], bytes: func(V) int { return 0 }}
	for _, opt := range opts {
		opt(&o)
	}
	return &node{
		name: name, kind: k, src: src,
		equal: func(a, b any) bool { return equalOrPanics(o.equal, as[V](a), as[V](b)) },
		bytes: func(v any) int { return o.bytes(as[V](v)) },
	}
}

func equalOrPanics[V any](equal func(a, b V) bool, a, b V) (same bool) {
	defer func() {
		if recover() != nil {
			same = false
		}
	}()
	return equal(a, b)
}

func defaultEqual[V any](a, b V) bool {
	if own, ok := any(a).(interface{ Equal(V) bool }); ok {
		return own.Equal(b)
	}
	return reflect.DeepEqual(a, b)
}

// as unboxes a value of a collection. A nil interface value is boxed as nil.
func as[V any](v any) V {
	typed, _ := v.(V)
	return typed
}
