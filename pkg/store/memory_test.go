package store_test

import (
	"runtime"
	"testing"
	"weak"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// TestReplacedValuesAreCollected: a View keeps no value that it does not have,
// however recent the batch that replaced it.
func TestReplacedValuesAreCollected(t *testing.T) {
	view, held := viewOf(new([1 << 16]byte))
	view = view.Apply(edit(1, 1))
	runtime.GC()
	if held.Value() != nil {
		t.Error("a replaced value is still held")
	}
	require(t, "values", 2, view.Len("Service"))
}

// viewOf returns a View that has a value, and a weak pointer to it.
func viewOf(value *[1 << 16]byte) (store.View, weak.Pointer[[1 << 16]byte]) {
	return store.View{}.Apply(store.Edit{Key: key(1), Value: value}, edit(2, 2)), weak.Make(value)
}
