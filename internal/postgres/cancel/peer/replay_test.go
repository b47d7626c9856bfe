package peer

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Unix(1_800_000_000, 0)

// A question passes once, within the window, whatever the history; and what can no
// longer pass is forgotten.
func TestMemory(t *testing.T) {
	nonces := rapid.Map(rapid.IntRange(0, 9), func(n int) Nonce { return Nonce{byte(n)} })
	rapid.Check(t, func(t *rapid.T) {
		var m memory
		now := noon
		at := map[Nonce]time.Time{} // the question's own time; a nonce is never used for two
		passed := map[Nonce]bool{}
		for range rapid.IntRange(1, 100).Draw(t, "questions") {
			now = now.Add(time.Duration(rapid.IntRange(0, 5000).Draw(t, "pause")) * time.Millisecond)
			q := Question{Nonce: nonces.Draw(t, "nonce")}
			if _, known := at[q.Nonce]; !known {
				at[q.Nonce] = now.Add(time.Duration(rapid.IntRange(-20, 20).Draw(t, "skew")) * time.Second)
			}
			q.Time = at[q.Nonce]
			want := error(nil)
			switch age := now.Sub(q.Time).Abs(); {
			case age > Window:
				want = errStale
			case passed[q.Nonce]:
				want = errReplayed
			}
			if got := m.admit(q, now); !errors.Is(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
			passed[q.Nonce] = passed[q.Nonce] || want == nil
			if len(m.heard) != len(m.queue) || len(m.queue) > 0 && now.Sub(m.queue[0].at) > 2*Window && !errors.Is(want, errStale) {
				t.Fatalf("%d and %d are remembered, the oldest for %v", len(m.heard), len(m.queue), now.Sub(m.queue[0].at))
			}
		}
	})
}

func TestMemoryIsBounded(t *testing.T) {
	var m memory
	for range maxHeard {
		if err := m.admit(Question{Time: noon, Nonce: freshNonce()}, noon); err != nil {
			t.Fatal(err)
		}
	}
	late := noon.Add(2*Window + time.Millisecond)
	if err := m.admit(Question{Time: noon, Nonce: freshNonce()}, noon); !errors.Is(err, errBusy) {
		t.Errorf("got %v", err)
	}
	if err := m.admit(Question{Time: late, Nonce: freshNonce()}, late); err != nil || len(m.heard) != 1 || len(m.queue) != 1 {
		t.Errorf("got %v, and %d are remembered", err, len(m.heard))
	}
}
