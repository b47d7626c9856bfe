package file

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// reread returns what another process would read.
func reread(t *testing.T, path string) (map[store.Key]record, error) {
	t.Helper()
	other := journal{path: path}
	return other.read()
}

func records(n int) map[store.Key]record {
	out := map[store.Key]record{}
	for i := range n {
		out[configMap(fmt.Sprint("m", i))] = record{Generation: int64(i + 1), Spec: fmt.Sprint("spec", i)}
	}
	return out
}

func TestJournalGivesWhatWasAppended(t *testing.T) {
	j := journal{path: filepath.Join(t.TempDir(), "generations.json")}
	want := records(3)
	must(t, j.rewrite(want))
	want[configMap("m1")] = record{Generation: 9, Spec: "other"}
	want[configMap("new")] = record{Generation: 1, Spec: "new", Created: 77}
	must(t, j.append(map[store.Key]record{configMap("m1"): want[configMap("m1")], configMap("new"): want[configMap("new")], configMap("m2"): {}}))
	delete(want, configMap("m2"))
	if got, err := reread(t, j.path); err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// Wherever a crash cuts the file off, all whole records are there, and the next
// change makes the file whole.
func TestJournalSurvivesACutAnywhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "generations.json")
	j := journal{path: path}
	must(t, j.rewrite(records(2)))
	must(t, j.append(map[store.Key]record{configMap("m0"): {Generation: 7, Spec: "x"}, configMap("m5"): {Generation: 8, Spec: "y"}}))
	whole, err := os.ReadFile(path)
	must(t, err)
	head := strings.IndexByte(string(whole), '\n') + 1
	for size := head; size <= len(whole); size++ {
		must(t, os.WriteFile(path, whole[:size], 0o600))
		cut := journal{path: path}
		got, err := cut.read()
		lines := strings.Count(string(whole[head:size]), "\n")
		if err != nil || len(got) != min(lines, 2)+max(lines-3, 0) {
			t.Fatalf("%d bytes, %d lines: %v, %v", size, lines, got, err)
		}
		if torn := whole[size-1] != '\n'; cut.takes(1, len(got)) == torn {
			t.Fatalf("%d bytes: would append to it: %t", size, !torn)
		}
	}
}

func TestJournalKeepsWhatABadLineLeaves(t *testing.T) {
	j := journal{path: filepath.Join(t.TempDir(), "generations.json")}
	must(t, j.rewrite(records(3)))
	text, err := os.ReadFile(j.path)
	must(t, err)
	write(t, j.path, strings.Replace(string(text), `"spec1"`, `"spec`, 1))
	got, err := reread(t, j.path)
	if len(got) != 2 || err == nil || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("%v, %v", got, err)
	}
}

// A file that somebody else changed or removed is not appended to.
func TestJournalIsWrittenAnewWhenItIsNotAsItWasLeft(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"removed": os.Remove,
		"longer": func(path string) error {
			return os.WriteFile(path, []byte(strings.Repeat("x", 1000)), 0o600)
		},
		"empty": func(path string) error { return os.Truncate(path, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			l := openLedger(t.TempDir(), (Options{}).withDefaults().Log)
			l.count(configMap("a"), "1", time.Time{})
			if !l.saver.save() {
				t.Fatal("not saved")
			}
			must(t, spoil(l.saver.journal.path))
			l.count(configMap("b"), "1", time.Time{})
			if !l.saver.save() {
				t.Fatal("not saved again")
			}
			if got, err := reread(t, l.saver.journal.path); err != nil || !maps.Equal(got, l.now) {
				t.Errorf("%v, %v, want %v", got, err, l.now)
			}
		})
	}
}

// A change costs one line, however many objects there are; and the file stays in
// proportion to what it says.
func TestJournalGrowsByTheChange(t *testing.T) {
	l := openLedger(t.TempDir(), (Options{}).withDefaults().Log)
	const objects = 500
	for i := range objects {
		l.count(configMap(fmt.Sprint(i)), "0", time.Time{})
	}
	l.saver.save()
	before := l.saver.journal
	l.count(configMap("7"), "1", time.Time{})
	l.saver.save()
	if after := l.saver.journal; after.lines != before.lines+1 || after.size > before.size+200 {
		t.Errorf("from %+v to %+v", before, after)
	}
	for i := range 5 * objects {
		l.count(configMap("7"), fmt.Sprint("x", i), time.Time{})
		l.saver.save()
		if n := l.saver.journal.lines; n > 2*objects+slack {
			t.Fatalf("%d lines for %d objects", n, objects)
		}
	}
	if got, err := reread(t, l.saver.journal.path); err != nil || !maps.Equal(got, l.now) {
		t.Errorf("%d records, %v, want %d", len(got), err, len(l.now))
	}
}

// What an earlier version saved goes on counting.
func TestJournalReadsVersion1(t *testing.T) {
	state := t.TempDir()
	write(t, filepath.Join(state, "generations.json"), "{\n \"version\": 1,\n \"objects\": {\n  \"ConfigMap default/a\": {\"generation\": 4, \"spec\": \"s\"}\n }\n}\n")
	l := openLedger(state, (Options{}).withDefaults().Log)
	if n := l.count(configMap("a"), "other", time.Time{}); n.Generation != 5 {
		t.Errorf("%+v, want generation 5", n)
	}
	l.saver.save()
	if got, err := reread(t, l.saver.journal.path); err != nil || got[configMap("a")].Generation != 5 {
		t.Errorf("%v, %v", got, err)
	}
}
