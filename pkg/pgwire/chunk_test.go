package pgwire_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

// belief is all that a tracker says.
type belief struct {
	Said       string
	Status     byte
	Terminated bool
	Login      pgwire.Login
	Error      pgwire.ServerError
	Lost       bool
}

func beliefOf(t *pgwire.Tracker) belief {
	return belief{say(t), t.Status(), t.Terminated(), t.Login(), t.LastError(), t.Err() != nil}
}

// streams are what backends may send: real messages, and bytes that are none.
func streams(kinds string) *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		var raw []byte
		tokens := slices.Concat(strings.Fields(kinds), slices.Collect(strings.FieldsSeq(login)))
		for _, token := range rapid.SliceOfN(rapid.SampledFrom(tokens), 0, 20).Draw(t, "messages") {
			raw = append(raw, script(token)...)
		}
		if rapid.IntRange(0, 9).Draw(t, "broken") == 0 {
			at := rapid.IntRange(0, len(raw)).Draw(t, "at")
			raw = slices.Insert(raw, at, rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")...)
		}
		return raw
	})
}

// TestChunksDoNotMatter: however a stream is cut, a tracker believes the same.
func TestChunksDoNotMatter(t *testing.T) {
	client := streams("Q S F P B D E C H d c f p X")
	backend := streams("R0 R3 R5 R10 R11 v K ZI ZT ZE E N A S C D T 1 2 3 n t I s G H W d c")
	rapid.Check(t, func(t *rapid.T) {
		asked, said := client.Draw(t, "client"), backend.Draw(t, "backend")
		var whole, pieces pgwire.Tracker
		_ = whole.Frontend(asked)
		whole.Backend(said)
		cut(t, asked, func(piece []byte) { _ = pieces.Frontend(piece) })
		cut(t, said, pieces.Backend)
		if diff := cmp.Diff(beliefOf(&whole), beliefOf(&pieces)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// cut hands raw over in pieces, in one buffer that is used again as a relay does.
func cut(t *rapid.T, raw []byte, f func([]byte)) {
	buffer := make([]byte, len(raw))
	for len(raw) > 0 {
		n := copy(buffer, raw[:rapid.IntRange(1, min(len(raw), 12)).Draw(t, "piece")])
		f(buffer[:n])
		clear(buffer)
		raw = raw[n:]
	}
}

// conversationBytes are those of a session in use: queries, errors, rows, COPY.
var (
	questions = script("Q P B D E S Q d d c Q")
	answers   = script("T D D C ZI 1 2 T D C ZT G C ZI E ZI")
)

func TestNoAllocations(t *testing.T) {
	var tracker pgwire.Tracker
	tracker.Backend(script(login))
	for name, step := range map[string]int{"whole": 1 << 20, "byte by byte": 1} {
		got := testing.AllocsPerRun(100, func() {
			for piece := range slices.Chunk(questions, step) {
				_ = tracker.Frontend(piece)
			}
			for piece := range slices.Chunk(answers, step) {
				tracker.Backend(piece)
			}
			if !tracker.Idle() {
				t.Error("not idle after all was answered")
			}
		})
		if got != 0 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
}

func FuzzTracker(f *testing.F) {
	f.Add(questions, append(script(login), answers...))
	f.Add(script("p p"), script("v R10 R11 R12 R0 S K ZI"))
	f.Add([]byte{}, []byte("Ecould not fork new process\n\x00"))
	f.Fuzz(func(t *testing.T, asked, said []byte) {
		var whole, pieces pgwire.Tracker
		_ = whole.Frontend(asked)
		whole.Backend(said)
		for _, b := range asked {
			_ = pieces.Frontend([]byte{b})
		}
		for _, b := range said {
			pieces.Backend([]byte{b})
		}
		if diff := cmp.Diff(beliefOf(&whole), beliefOf(&pieces)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestTrackerAllocatesLittle: whatever a backend sends before it is trusted.
func TestTrackerAllocatesLittle(t *testing.T) {
	mechanisms := message('R', "\x00\x00\x00\x0a"+strings.Repeat("a\x00", 100_000)+"\x00")
	for name, raw := range map[string][]byte{
		"mechanisms": mechanisms, "many of them": bytes.Repeat(script("R0 R10 R11 R3"), 1000),
		"a key": message('K', strings.Repeat("k", 1<<20)), "an error": message('E', strings.Repeat("Cx", 1<<20)),
	} {
		t.Run(name, func(t *testing.T) {
			got := allocated(func() {
				var tracker pgwire.Tracker
				tracker.Backend(raw)
			})
			if got > 10_000 {
				t.Errorf("%d bytes allocated", got)
			}
		})
	}
}
