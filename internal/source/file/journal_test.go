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

// reread returns what another process would read in a state directory.
func reread(t *testing.T, dir string) (map[store.Key]record, error) {
	t.Helper()
	return newGenerations(dir).load()
}

// A file that somebody else changed or removed is not appended to.
func TestGenerationsAreWrittenAnewWhenTheyAreNotAsTheyWereLeft(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"removed": os.Remove,
		"longer": func(path string) error {
			return os.WriteFile(path, []byte(strings.Repeat("x", 1000)), 0o600)
		},
		"empty": func(path string) error { return os.Truncate(path, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			state := t.TempDir()
			l := openLedger(state, (Options{}).withDefaults().Log)
			l.count(configMap("a"), "1", time.Time{})
			if !l.saver.save() {
				t.Fatal("not saved")
			}
			must(t, spoil(l.saver.generations.path))
			l.count(configMap("b"), "1", time.Time{})
			if !l.saver.save() {
				t.Fatal("not saved again")
			}
			if got, err := reread(t, state); err != nil || !maps.Equal(got, l.now) {
				t.Errorf("%v, %v, want %v", got, err, l.now)
			}
		})
	}
}

// A change costs one line, however many objects there are; and what is forgotten
// does not come back.
func TestGenerationsGrowByTheChange(t *testing.T) {
	state := t.TempDir()
	l := openLedger(state, (Options{}).withDefaults().Log)
	const objects = 500
	for i := range objects {
		l.count(configMap(fmt.Sprint(i)), "0", time.Time{})
	}
	l.saver.save()
	size := func() int64 {
		info, err := os.Stat(l.saver.generations.path)
		must(t, err)
		return info.Size()
	}
	before := size()
	l.count(configMap("7"), "1", time.Time{})
	l.forget(configMap("8"))
	l.saver.save()
	if after := size(); after <= before || after > before+300 {
		t.Errorf("from %d to %d bytes", before, after)
	}
	if got, err := reread(t, state); err != nil || !maps.Equal(got, l.now) || len(got) != objects-1 {
		t.Errorf("%d records, %v, want %d", len(got), err, len(l.now))
	}
}

// What an earlier version saved goes on counting, and makes way for the journal.
func TestGenerationsOfEarlierVersions(t *testing.T) {
	for version, content := range map[int]string{
		1: "{\n \"version\": 1,\n \"objects\": {\n  \"ConfigMap default/a\": {\"generation\": 4, \"spec\": \"s\", \"created\": 77}\n }\n}\n",
		2: "{\"version\":2}\n{\"object\":\"ConfigMap default/b\",\"generation\":9}\n{\"object\":\"ConfigMap default/a\",\"generation\":4,\"spec\":\"s\",\"created\":77}\n{\"object\":\"ConfigMap default/b\"}\n{\"obj",
	} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			state := t.TempDir()
			write(t, filepath.Join(state, "generations.json"), content)
			l := openLedger(state, (Options{}).withDefaults().Log)
			if n := l.count(configMap("a"), "other", time.Time{}); n.Generation != 5 || n.Created != 77 || len(l.now) != 1 {
				t.Errorf("%+v, want generation 5 of an object of second 77", n)
			}
			l.saver.save()
			if got, err := reread(t, state); err != nil || got[configMap("a")].Generation != 5 {
				t.Errorf("%v, %v", got, err)
			}
			if _, err := os.Stat(filepath.Join(state, "generations.json")); !os.IsNotExist(err) {
				t.Errorf("the file of version %d is left: %v", version, err)
			}
		})
	}
}
