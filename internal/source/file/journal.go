package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/pkg/journal"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// generationsHead is the first line of the journal that a ledger is kept in.
const generationsHead = "gatehouse generations 3"

// generations is the journal of a ledger, and the file of an earlier version that
// counts until the journal is written.
type generations struct {
	*journal.Journal
	path, legacy string
}

func newGenerations(dir string) *generations {
	return &generations{path: filepath.Join(dir, "generations.journal"), legacy: filepath.Join(dir, "generations.json")}
}

// load returns what was saved. With an error it is what could be read.
func (g *generations) load() (map[store.Key]record, error) {
	out, faults := map[store.Key]record{}, error(nil)
	var err error
	g.Journal, err = journal.Open(g.path, journal.Options{Head: generationsHead}, func(r journal.Record) {
		faults = errors.Join(faults, putRecord(out, r))
	})
	if g.Len() > 0 || err != nil {
		return out, errors.Join(err, faults)
	}
	return readLegacy(g.legacy)
}

func putRecord(into map[store.Key]record, r journal.Record) error {
	var value record
	if r.Value != nil {
		if err := json.Unmarshal(r.Value, &value); err != nil {
			return fmt.Errorf("record of %q: %w", r.Key, err)
		}
	}
	put(into, r.Key, value)
	return nil
}

func put(into map[store.Key]record, name string, r record) {
	kind, object, ok := strings.Cut(name, " ")
	key := store.Key{Collection: kind, Name: object}
	switch {
	case !ok:
	case r.Generation > 0:
		into[key] = r
	default:
		delete(into, key)
	}
}

// append adds what changed.
func (g *generations) append(changes map[store.Key]record) error {
	if err := g.Append(slices.Collect(recordsOf(changes))...); err != nil {
		return err
	}
	if g.Wasteful() {
		_ = g.Compact() // if it cannot be, the file stays as it is
	}
	return nil
}

// rewrite saves all records. Then the file of an earlier version is of no use any more.
func (g *generations) rewrite(all map[store.Key]record) error {
	if err := g.Rewrite(recordsOf(all)); err != nil {
		return err
	}
	_ = os.Remove(g.legacy) // it is not read beside a journal
	return nil
}

// recordsOf are records in the order of their keys.
func recordsOf(records map[store.Key]record) iter.Seq[journal.Record] {
	return func(yield func(journal.Record) bool) {
		for _, key := range slices.SortedFunc(maps.Keys(records), store.Key.Compare) {
			r := journal.Record{Key: key.String()}
			if value := records[key]; value.Generation > 0 {
				r.Value, _ = json.Marshal(value) // numbers and a text always have a JSON form
			}
			if !yield(r) {
				return
			}
		}
	}
}

// readLegacy reads what versions 1 and 2 saved: one value, or one line for each change.
func readLegacy(path string) (map[store.Key]record, error) {
	out := map[store.Key]record{}
	raw, err := os.ReadFile(path)
	if err != nil {
		return out, err
	}
	var whole struct {
		Version int               `json:"version"`
		Objects map[string]record `json:"objects"`
	}
	head, lines, _ := bytes.Cut(raw, []byte("\n"))
	switch {
	case json.Unmarshal(head, &whole) == nil && whole.Version == 2:
	case json.Unmarshal(raw, &whole) == nil && whole.Version == 1:
		lines = nil
	default:
		return out, fmt.Errorf("%w: neither version 1 nor 2", fs.ErrInvalid)
	}
	for name, r := range whole.Objects {
		put(out, name, r)
	}
	return out, readLines(lines, out)
}

// readLines reads the lines of version 2. One without an end is what a crash left.
func readLines(lines []byte, into map[store.Key]record) (fault error) {
	for line := range bytes.Lines(lines[:bytes.LastIndexByte(lines, '\n')+1]) {
		var l struct {
			Object string `json:"object"`
			record
		}
		if err := json.Unmarshal(line, &l); err != nil {
			fault = err
			continue
		}
		put(into, l.Object, l.record)
	}
	return fault
}
