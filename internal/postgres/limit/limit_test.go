package limit

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Has says what Take would, and changes nothing.
func TestHasIsTakeWithoutTaking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(1_800_000_000, 0)
		r := Rate{PerSecond: 1, Burst: rapid.IntRange(1, 4).Draw(t, "burst"), Keys: 3}
		asked, plain := NewBuckets[string](r, func() time.Time { return now }), NewBuckets[string](r, func() time.Time { return now })
		for range rapid.IntRange(1, 100).Draw(t, "events") {
			now = now.Add(time.Second / 4 * time.Duration(rapid.IntRange(0, 8).Draw(t, "pause")))
			key := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "key")
			has := asked.Has(key)
			if took := asked.Take(key); took != has || took != plain.Take(key) {
				t.Fatalf("%s: has %v, took %v", key, has, took)
			}
			if asked.Len() > r.Keys {
				t.Fatalf("%d keys are remembered", asked.Len())
			}
		}
	})
}

// Whoever owes has nothing until that has come, which is bounded.
func TestOwe(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	b := NewBuckets[string](Rate{PerSecond: 1, Burst: 2, Keys: 3}, func() time.Time { return now })
	for owed, seconds := range map[int]int{1: 0, 2: 1, 3: 2, 10: 9, 1000: 11} {
		key := "a"
		b = NewBuckets[string](b.rate, b.now)
		for range owed {
			b.Owe(key)
		}
		from := now
		for !b.Has(key) {
			now = now.Add(time.Second)
		}
		if got := int(now.Sub(from) / time.Second); got != seconds || !b.Has("b") {
			t.Errorf("after %d it has one in %d s, want %d", owed, got, seconds)
		}
	}
}

func TestNoRateIsNoLimit(t *testing.T) {
	b := NewBuckets[int](Rate{}, time.Now)
	for i := range 1000 {
		if !b.Take(i) || !b.Has(i) {
			t.Fatal("refused")
		}
	}
	if b.Len() != 0 {
		t.Errorf("%d keys are remembered for nothing", b.Len())
	}
}

// A census is a map of counts, and forgets keys that have nothing.
func TestCensus(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(0, 3).Draw(t, "most")
		c, model := NewCensus[int](most), map[int]int{}
		for range rapid.IntRange(1, 100).Draw(t, "events") {
			key := rapid.IntRange(1, 3).Draw(t, "key")
			if model[key] > 0 && rapid.Bool().Draw(t, "leaves") {
				c.Leave(key)
				if model[key]--; model[key] == 0 {
					delete(model, key)
				}
				continue
			}
			want := most == 0 || model[key] < most
			if c.Enter(key) != want {
				t.Fatalf("%d beside %d", key, model[key])
			}
			if want {
				model[key]++
			}
		}
		if c.Len() != len(model) {
			t.Fatalf("%d keys, want %d", c.Len(), len(model))
		}
	})
}
