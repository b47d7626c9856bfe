package store_test

import (
	"runtime"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

const many = 40_000

func manyValues() store.View {
	batch := make([]store.Edit, many)
	for i := range batch {
		batch[i] = edit(i, i)
	}
	return store.View{}.Apply(batch...)
}

// BenchmarkLoad applies 40,000 values as one batch, and reports what a View of
// them holds beside keys and values.
func BenchmarkLoad(b *testing.B) {
	batch := make([]store.Edit, many)
	for i := range batch {
		batch[i] = edit(i, i)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	view := store.View{}.Apply(batch...)
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportAllocs()
	for b.Loop() {
		store.View{}.Apply(batch...)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/many, "held-B/value")
	runtime.KeepAlive(view)
}

// BenchmarkApply sets one of 40,000 values.
func BenchmarkApply(b *testing.B) {
	view := manyValues()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		view = view.Apply(edit(i%many, -i))
	}
}

// BenchmarkGet reads one of 40,000 values.
func BenchmarkGet(b *testing.B) {
	view, k := manyValues(), key(31_415)
	for b.Loop() {
		view.Get(k)
	}
}

// BenchmarkDiff finds one change among 40,000 values: from the journal, and between
// branches from the roots.
func BenchmarkDiff(b *testing.B) {
	base := manyValues()
	child, sibling := base.Apply(edit(7, -1)), base.Apply(edit(8, -1))
	for name, from := range map[string]store.View{"journal": base, "roots": sibling} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for range store.Diff(from, child) {
					continue
				}
			}
		})
	}
}

// BenchmarkMapSet sets one of 40,000 keys of a Map.
func BenchmarkMapSet(b *testing.B) {
	var m store.Map[string, any]
	keys := make([]string, many)
	for i := range keys {
		keys[i] = key(i).Name
		m = m.Set(keys[i], i)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		m = m.Set(keys[i*7919%many], &keys[i%many])
	}
}
