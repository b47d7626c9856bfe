package pgwire_test

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

// message builds one message.
func message(kind byte, payload string) []byte {
	raw := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(payload)+4))
	return append(raw, payload...)
}

// login is what a backend says when it trusts everybody.
const login = "R0 K ZI"

// payloads of the messages that scripts name; all others have none that matters.
var payloads = map[string]string{
	"R0": "\x00\x00\x00\x00", "R3": "\x00\x00\x00\x03", "R5": "\x00\x00\x00\x05salt",
	"R10": "\x00\x00\x00\x0aSCRAM-SHA-256-PLUS\x00SCRAM-SHA-256\x00\x00",
	"R11": "\x00\x00\x00\x0br=1", "R12": "\x00\x00\x00\x0cv=1",
	"K": "\x00\x00\x10\x01abcd", "v": "\x00\x03\x00\x00\x00\x00\x00\x00",
	"ZI": "I", "ZT": "T", "ZE": "E",
	"E": "SFEHLER\x00VERROR\x00C22P02\x00Mno number\x00\x00",
}

func script(tokens string) []byte {
	var raw []byte
	for token := range strings.FieldsSeq(tokens) {
		payload, known := payloads[token]
		if !known {
			payload = "payload"
		}
		raw = append(raw, message(token[0], payload)...)
	}
	return raw
}

// play plays lines of a script: ">" is what the client sends, "<" what the backend
// does, "=" what the tracker must say now.
func play(t *testing.T, tracker *pgwire.Tracker, lines string) {
	t.Helper()
	for line := range strings.Lines(lines) {
		who, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch who {
		case ">":
			if err := tracker.Frontend(script(what)); err != nil {
				t.Fatal(err)
			}
		case "<":
			tracker.Backend(script(what))
		case "=":
			if got := say(tracker); got != what {
				t.Fatalf("after %q: tracker says %q, want %q in\n%s", line, got, what, lines)
			}
		}
	}
}

// say is the tracker's belief in words.
func say(tracker *pgwire.Tracker) string {
	words := "busy"
	if tracker.Idle() {
		words = "idle"
	}
	if tracker.InTransaction() {
		words += " in transaction"
	}
	return words + [...]string{"", " copy in", " copy out", " copy both"}[tracker.Copy()]
}

// conversations are those of a file in testdata, by name.
func conversations(t *testing.T, file string) map[string]string {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", file+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	for _, f := range archive.Files {
		all[f.Name] = string(f.Data)
	}
	if len(all) < 5 {
		t.Fatalf("%d conversations in %s", len(all), file)
	}
	return all
}

func TestConversations(t *testing.T) {
	for name, lines := range conversations(t, "conversations") {
		t.Run(name, func(t *testing.T) {
			var tracker pgwire.Tracker
			tracker.Backend(script(login))
			play(t, &tracker, "= idle\n"+lines)
		})
	}
}

// TestMessagesInTheMiddle: half a message is more to come, whatever it will be.
func TestMessagesInTheMiddle(t *testing.T) {
	for name, send := range map[string]func(*pgwire.Tracker, []byte){
		"client":  func(tracker *pgwire.Tracker, piece []byte) { _ = tracker.Frontend(piece) },
		"backend": (*pgwire.Tracker).Backend,
	} {
		t.Run(name, func(t *testing.T) {
			var tracker pgwire.Tracker
			tracker.Backend(script(login))
			for _, b := range message('S', "")[:4] { // Sync of one, ParameterStatus of the other
				send(&tracker, []byte{b})
				if tracker.Idle() {
					t.Error("idle in the middle of a message")
				}
			}
		})
	}
}

func TestSeal(t *testing.T) {
	var tracker pgwire.Tracker
	play(t, &tracker, "< "+login+"\n> Q")
	if tracker.Seal() {
		t.Error("sealed under a query")
	}
	play(t, &tracker, "> Q\n< C ZI C ZI\n= idle")
	for range 2 {
		if !tracker.Seal() {
			t.Error("not sealed when idle")
		}
	}
	if err := tracker.Frontend(script("Q")); !errors.Is(err, pgwire.ErrSealed) {
		t.Errorf("Frontend after Seal: %v", err)
	}
}

// TestBusy: a cancel has something to end while an answer is owed, and only then.
func TestBusy(t *testing.T) {
	for name, c := range map[string]struct {
		play string
		busy bool
	}{
		"before the login":            {"< R10", false},
		"after it":                    {"< " + login, false},
		"a query":                     {"< " + login + "\n> Q", true},
		"a query that is answering":   {"< " + login + "\n> Q\n< T D", true},
		"a query that is answered":    {"< " + login + "\n> Q\n< T D C ZI", false},
		"in a transaction that waits": {"< " + login + "\n> Q\n< C ZT", false},
		"in one that works":           {"< " + login + "\n> Q\n< C ZT\n> Q", true},
		"extended, before its Sync":   {"< " + login + "\n> P B E", true},
		"extended":                    {"< " + login + "\n> P B E S\n< 1 2", true},
		"COPY FROM":                   {"< " + login + "\n> Q\n< G\n> d", true},
		"COPY TO":                     {"< " + login + "\n> Q\n< H d", true},
		"replication":                 {"< " + login + "\n> Q\n< W", true},
		"a query and a goodbye":       {"< " + login + "\n> Q X", false},
		"a notification":              {"< " + login + "\n< A", false},
	} {
		t.Run(name, func(t *testing.T) {
			var tracker pgwire.Tracker
			play(t, &tracker, c.play)
			if got := tracker.Busy(); got != c.busy {
				t.Errorf("busy = %v, want %v", got, c.busy)
			}
		})
	}
}

func TestImpossibleLength(t *testing.T) {
	for name, raw := range map[string][]byte{
		"too small": {'Z', 0, 0, 0, 3}, "negative": {'D', 0x80, 0, 0, 0},
		"an error of protocol 2": []byte("Ecould not fork\n\x00"),
	} {
		t.Run(name, func(t *testing.T) {
			var tracker pgwire.Tracker
			tracker.Backend(raw)
			known := tracker.Err() != nil
			if want := name != "an error of protocol 2"; known != want {
				t.Errorf("error %v", tracker.Err())
			}
			tracker.Backend(script(login))
			if tracker.Idle() {
				t.Error("idle without message boundaries")
			}
		})
	}
}
