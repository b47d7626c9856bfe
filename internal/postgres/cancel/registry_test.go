package cancel

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

var someKey = pgwire.Key{PID: 7, Secret: "\x01\x02\x03\x04"}

// naive is a Registry as its documentation describes it: a list.
type naive []learnt

type learnt struct {
	key    pgwire.Key
	target Target[string]
}

func (n naive) lookup(key pgwire.Key) []Target[string] {
	var out []Target[string]
	for _, l := range n {
		if l.key == key {
			out = append(out, l.target)
		}
	}
	return out
}

func (n *naive) learn(key pgwire.Key, target Target[string]) bool {
	has := func(l learnt) bool { return l.key == key && l.target.Session == target.Session }
	if key.PID == 0 && strings.Count(key.Secret, "\x00") == len(key.Secret) ||
		slices.ContainsFunc(*n, has) || len(n.lookup(key)) == MaxTargets {
		return false
	}
	*n = append(*n, learnt{key: key, target: target})
	return true
}

func (n *naive) forget(key pgwire.Key, session Session) bool {
	before := len(*n)
	*n = slices.DeleteFunc(*n, func(l learnt) bool { return l.key == key && l.target.Session == session })
	return len(*n) < before
}

// keys are few, so that sessions share them, and differ where a careless comparison
// would not look: in the PID, the length, the first or the last byte.
var keys = rapid.Custom(func(t *rapid.T) pgwire.Key {
	filling := strings.Repeat("\x00", rapid.SampledFrom([]int{2, 30, 254}).Draw(t, "filling"))
	edge := rapid.StringOfN(rapid.RuneFrom([]rune{0, 1}), 1, 1, -1)
	return pgwire.Key{
		PID:    rapid.Uint32Range(0, 1).Draw(t, "pid"),
		Secret: edge.Draw(t, "first") + filling + edge.Draw(t, "last"),
	}
})

func TestRegistryIsTheNaiveOne(t *testing.T) {
	sessions := rapid.Map(rapid.IntRange(1, 2*MaxTargets), func(n int) Session { return Session(n) })
	rapid.Check(t, func(t *rapid.T) {
		r, model := NewRegistry[string](), naive{}
		if rapid.Bool().Draw(t, "all in one chain") {
			r.digest = func(pgwire.Key) uint64 { return 1 }
		}
		t.Repeat(map[string]func(*rapid.T){
			"learn": func(t *rapid.T) {
				target := Target[string]{Session: sessions.Draw(t, "session"), Address: rapid.StringMatching(`[ab]`).Draw(t, "address")}
				key := keys.Draw(t, "key")
				if got, want := r.Learn(key, target), model.learn(key, target); got != want {
					t.Fatalf("Learn(%v, %v) = %v, want %v", key, target, got, want)
				}
			},
			"forget": func(t *rapid.T) {
				key, session := keys.Draw(t, "key"), sessions.Draw(t, "session")
				if got, want := r.Forget(key, session), model.forget(key, session); got != want {
					t.Fatalf("Forget(%v, %v) = %v, want %v", key, session, got, want)
				}
			},
			"": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				if diff := cmp.Diff(model.lookup(key), r.Lookup(nil, key)); diff != "" {
					t.Fatalf("Lookup(%v) (-want +got):\n%s", key, diff)
				}
				if r.Len() != len(model) {
					t.Fatalf("Len() = %d, want %d", r.Len(), len(model))
				}
			},
		})
		for _, l := range slices.Clone(model) {
			r.Forget(l.key, l.target.Session)
		}
		if r.Len() != 0 || len(r.entries) != 0 {
			t.Fatalf("%d keys in %d chains after all were forgotten", r.Len(), len(r.entries))
		}
	})
}

func TestOneKeyOfEverybodyStaysBounded(t *testing.T) {
	r := NewRegistry[int]()
	for session := range Session(1000) {
		r.Learn(someKey, Target[int]{Session: session})
	}
	if got := len(r.Lookup(nil, someKey)); got != MaxTargets {
		t.Errorf("%d targets, want %d", got, MaxTargets)
	}
}

func TestLookupAllocatesNothing(t *testing.T) {
	r := NewRegistry[string]()
	long := pgwire.Key{PID: 1, Secret: strings.Repeat("s", pgwire.MaxSecret)}
	r.Learn(someKey, Target[string]{Session: 1, Address: "a"})
	r.Learn(long, Target[string]{Session: 2, Address: "b"})
	room := make([]Target[string], 0, MaxTargets)
	for name, key := range map[string]pgwire.Key{"known": someKey, "long": long, "unknown": {PID: 9, Secret: "none"}} {
		if n := testing.AllocsPerRun(100, func() { r.Lookup(room, key) }); n != 0 {
			t.Errorf("look-up of a key that is %s: %v allocations, want 0", name, n)
		}
	}
}

func TestLearnAndForgetAllocateOnce(t *testing.T) {
	r := NewRegistry[string]()
	n := testing.AllocsPerRun(100, func() {
		r.Learn(someKey, Target[string]{Session: 1, Address: "a"})
		r.Forget(someKey, 1)
	})
	if n > 1 {
		t.Errorf("%v allocations a session, want at most 1", n)
	}
}

func TestSessionsAtOnce(t *testing.T) {
	r := NewRegistry[int]()
	var wait sync.WaitGroup
	for session := range Session(MaxTargets) {
		wait.Go(func() {
			for range 500 {
				if !r.Learn(someKey, Target[int]{Session: session, Address: int(session)}) {
					t.Error("not learnt")
				}
				mine := Target[int]{Session: session, Address: int(session)}
				if !slices.Contains(r.Lookup(nil, someKey), mine) {
					t.Error("another session took the key away")
				}
				r.Forget(someKey, session)
			}
		})
	}
	wait.Wait()
	if r.Len() != 0 {
		t.Errorf("%d keys are left", r.Len())
	}
}

func BenchmarkLookup(b *testing.B) {
	r := NewRegistry[string]()
	for session := range Session(10_000) {
		r.Learn(pgwire.Key{PID: uint32(session), Secret: "four"}, Target[string]{Session: session})
	}
	room := make([]Target[string], 0, MaxTargets)
	for b.Loop() {
		r.Lookup(room, pgwire.Key{PID: 77, Secret: "four"})
	}
}
