package file

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// lockedLog is a log that a test reads while others write.
type lockedLog struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

func (l *lockedLog) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.String()
}

// dump is every object as JSON, to compare runs byte by byte.
func (w *watching) dump() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	b, err := json.MarshalIndent([]any{sorted(w.objects), w.findings}, "", " ")
	must(w.t, err)
	return string(b)
}

func sorted(objects map[store.Key]snapshot.Object) map[string]snapshot.Object {
	out := map[string]snapshot.Object{}
	for k, o := range objects {
		out[k.String()] = o
	}
	return out
}

func TestRestartGivesIdenticalObjects(t *testing.T) {
	dir, state := t.TempDir(), filepath.Join(t.TempDir(), "made", "by", "need")
	path := filepath.Join(dir, "a.yaml")
	write(t, path, doc("a", "1")+doc("b", "1")+doc("c", "1"))
	o := Options{Paths: []string{dir}, StateDir: state}
	first, stop := run(t, o)
	for _, v := range []string{"2", "3"} {
		write(t, path, doc("a", v)+doc("b", "1")+doc("c", "1"))
		first.until("an edit", func() bool { return first.has("a", v) })
	}
	write(t, path, doc("a", "3")+doc("b", "1"))
	first.until("a deletion", func() bool { return len(first.objects) == 2 })
	want := first.dump()
	stop()
	if !strings.Contains(want, `"generation": 3`) || !strings.Contains(want, `"uid": "`) {
		t.Fatalf("objects without generation or uid: %s", want)
	}

	second, stop := run(t, o)
	if got := second.dump(); got != want {
		t.Errorf("after a restart:\n%s\nbefore:\n%s", got, want)
	}
	stop()
	write(t, path, doc("a", "edited while down")+doc("b", "1")+doc("c", "1"))
	third := start(t, o)
	a, b, c := third.objects[configMap("a")], third.objects[configMap("b")], third.objects[configMap("c")]
	if a.GetGeneration() != 4 || b.GetGeneration() != 1 || c.GetGeneration() != 1 {
		t.Errorf("generations %d %d %d, want 4 1 1", a.GetGeneration(), b.GetGeneration(), c.GetGeneration())
	}
	if once := ReadOnce(o); len(once.Edits) != 3 || once.Edits[0].Value.(snapshot.Object).GetGeneration() != 4 {
		t.Errorf("ReadOnce gives %v", once.Edits)
	}
}

// TestObjectsHaveTheirAge: what comes with the first batch is of one age, what comes
// later is younger, also after a restart; a timestamp of the document counts.
func TestObjectsHaveTheirAge(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	now := time.Unix(1000, 0)
	o := Options{Paths: []string{dir}, StateDir: state, Now: func() time.Time { return now }}
	write(t, filepath.Join(dir, "b.yaml"), doc("b", "1")+doc("c", "1"))
	s := New(o)
	age := func(b snapshot.Batch, name string) int64 {
		for _, e := range b.Edits {
			if o, ok := e.Value.(snapshot.Object); ok && e.Key == configMap(name) {
				return o.GetCreationTimestamp().Unix()
			}
		}
		t.Fatalf("%s is not in %v", name, b.Edits)
		return 0
	}
	look := func() snapshot.Batch {
		s.scan(func(string) {}, now, false)
		for path, d := range s.pending {
			d.quiet = true
			s.pending[path] = d
		}
		s.readDue(now)
		return s.batch(now, false)
	}
	first := look()
	now = time.Unix(2000, 0)
	write(t, filepath.Join(dir, "a.yaml"), doc("a", "1")+strings.Replace(doc("d", "1"), "name: d", "name: d\n  creationTimestamp: '1970-01-01T00:00:07Z'", 1))
	later := look()
	got := []int64{age(first, "b"), age(first, "c"), age(later, "a"), age(later, "d")}
	if want := []int64{1000, 1000, 2000, 7}; !slices.Equal(got, want) {
		t.Errorf("created at %v, want %v", got, want)
	}
	s.index.ledger.saver.save()
	now = time.Unix(3000, 0)
	again := ReadOnce(o)
	if got := []int64{age(again, "a"), age(again, "b")}; !slices.Equal(got, []int64{2000, 1000}) {
		t.Errorf("after a restart %v, want 2000 and 1000", got)
	}
}

func TestUselessStateIsAWarning(t *testing.T) {
	for name, content := range map[string]string{
		"no end": generationsHead, "bad line": generationsHead + "\n{\n", "other version": "gatehouse generations 9\n", "binary": "\x00\xff", "empty": "",
	} {
		t.Run(name, func(t *testing.T) {
			dir, state := t.TempDir(), t.TempDir()
			write(t, filepath.Join(dir, "a.yaml"), doc("a", "1"))
			write(t, filepath.Join(state, "generations.journal"), content)
			var log lockedLog
			w, stop := run(t, Options{Paths: []string{dir}, StateDir: state, Log: slog.New(slog.NewTextHandler(&log, nil))})
			stop()
			if len(w.objects) != 1 || !strings.Contains(log.text(), "counting starts anew") {
				t.Errorf("objects %v, log %q", w.names(), log.text())
			}
			if _, err := reread(t, state); err != nil {
				t.Errorf("the file was not repaired: %v", err)
			}
		})
	}
}

func TestStateThatCannotBeWrittenStopsNothing(t *testing.T) {
	dir := t.TempDir()
	blocker := filepath.Join(t.TempDir(), "file") // a file where a directory is needed fails for root too
	write(t, blocker, "")
	write(t, filepath.Join(dir, "a.yaml"), doc("a", "1"))
	var log lockedLog
	w, stop := run(t, Options{Paths: []string{dir}, StateDir: filepath.Join(blocker, "state"), Log: slog.New(slog.NewTextHandler(&log, nil))})
	write(t, filepath.Join(dir, "a.yaml"), doc("a", "2"))
	w.until("an edit", func() bool { return w.has("a", "2") })
	stop()
	if !strings.Contains(log.text(), "generations cannot be saved") {
		t.Errorf("log: %q", log.text())
	}
}

func TestLedgerIsSavedAfterABurst(t *testing.T) {
	state := t.TempDir()
	path := filepath.Join(t.TempDir(), "a.yaml")
	write(t, path, doc("a", "1"))
	start(t, Options{Paths: []string{path}, StateDir: state})
	deadline := time.Now().Add(10 * time.Second)
	for {
		if got, err := reread(t, state); err == nil && got[configMap("a")].Generation == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the ledger was not saved while running")
		}
		<-time.After(10 * time.Millisecond) // the file system tells no one
	}
	left, err := filepath.Glob(filepath.Join(state, ".*"))
	if must(t, err); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if info, err := os.Stat(filepath.Join(state, "generations.journal")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
