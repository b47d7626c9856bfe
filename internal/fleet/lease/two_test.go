package lease

import (
	"fmt"
	"testing"
	"time"
)

// TestTwoAreTwo: a choice among two looks at two, however many there are.
func TestTwoAreTwo(t *testing.T) {
	s := NewMemory(Options{Policy: BestOfTwo, Now: func() time.Time { return time.Unix(1_800_000_000, 0) }})
	for i := range 1000 {
		uid := fmt.Sprint(i)
		if err := s.Set(t.Context(), Proxy{UID: uid, Name: uid, Healthy: true}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Acquire(t.Context(), Request{TTL: time.Minute}); err != nil {
		t.Fatal(err)
	}
	p := s.pool(Selector{})
	for range 1000 {
		looked := 0
		if p.fitterOfTwo(func(*member) bool { looked++; return true }) == nil || looked != 2 {
			t.Fatalf("looked at %d", looked)
		}
	}
}
