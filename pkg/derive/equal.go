package derive

import (
	"reflect"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// equality returns how the boxed values of a collection are compared. Values whose
// comparison panics count as different, so that a change is never lost.
func equality[V any](equal func(a, b V) bool) func(a, b any) bool {
	if equal == nil {
		equal = defaultEqual[V]
	}
	return func(a, b any) (same bool) {
		if store.Identical(a, b) {
			return true
		}
		defer func() {
			if recover() != nil {
				same = false
			}
		}()
		return equal(as[V](a), as[V](b))
	}
}

func defaultEqual[V any](a, b V) bool {
	if own, ok := any(a).(interface{ Equal(V) bool }); ok {
		return own.Equal(b)
	}
	return reflect.DeepEqual(a, b)
}
