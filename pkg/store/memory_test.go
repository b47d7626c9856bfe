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
	replaced := new([1 << 16]byte)
	held := weak.Make(replaced)
	view := store.View{}.Apply(store.Edit{Key: key(1), Value: replaced}, edit(2, 2))
	replaced = nil
	view = view.Apply(edit(1, 1))
	runtime.GC()
	if held.Value() != nil {
		t.Error("a replaced value is still held")
	}
	require(t, "values", 2, view.Len("Service"))
}
