package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
	"github.com/gatehouse-proxy/gatehouse/pkg/wholefile"
)

// journal is a file of records: a line that tells the version, then one line for
// each change, the last of an object counts. What a crash leaves of a last line is
// no record. A journal that is much longer than what it says is written anew.
type journal struct {
	path  string
	lines int   // in the file
	size  int64 // of the file, while fit
	fit   bool  // the file can be appended to
}

const (
	journalVersion = 2
	slack          = 1000 // lines that a journal may have beyond twice its records
)

// journalHead is the first line. Version 1 was one value with all records in it.
type journalHead struct {
	Version int               `json:"version"`
	Objects map[string]record `json:"objects,omitzero"` // by "Kind namespace/name"
}

// journalLine is any other line; without a generation, the object is gone.
type journalLine struct {
	Object string `json:"object"` // "Kind namespace/name"
	record
}

// read returns what the file holds. With an error it is what could be read.
func (j *journal) read() (map[store.Key]record, error) {
	out := map[store.Key]record{}
	raw, err := os.ReadFile(j.path)
	if err != nil {
		return out, err
	}
	head, rest, _ := bytes.Cut(raw, []byte("\n"))
	var h journalHead
	if err := json.Unmarshal(head, &h); err != nil || h.Version != journalVersion {
		return out, readWhole(raw, out)
	}
	torn := len(rest) > 0 && rest[len(rest)-1] != '\n'
	if torn { // by a crash
		rest = rest[:bytes.LastIndexByte(rest, '\n')+1]
	}
	var faults []error
	for line := range bytes.Lines(rest) {
		j.lines++
		var l journalLine
		if err := json.Unmarshal(line, &l); err != nil {
			faults = append(faults, fmt.Errorf("line %d: %w", j.lines+1, err))
			continue
		}
		put(out, l.Object, l.record)
	}
	j.size, j.fit = int64(len(raw)), !torn && len(faults) == 0
	return out, errors.Join(faults[:min(len(faults), 3)]...)
}

// readWhole reads version 1.
func readWhole(raw []byte, into map[store.Key]record) error {
	var h journalHead
	if err := json.Unmarshal(raw, &h); err != nil {
		return fmt.Errorf("parse: %w", err)
	}
	if h.Version != 1 {
		return fmt.Errorf("version is %d, want %d", h.Version, journalVersion)
	}
	for name, r := range h.Objects {
		put(into, name, r)
	}
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

// takes reports whether so many changes are to be appended, when so many records
// are left.
func (j *journal) takes(changes, records int) bool {
	return j.fit && j.lines+changes <= 2*records+slack
}

// append adds changes at the end. After an error the file must be rewritten.
func (j *journal) append(changes map[store.Key]record) error {
	j.fit = false
	f, err := os.OpenFile(j.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	if info, err := f.Stat(); err != nil || info.Size() != j.size {
		return errors.Join(err, f.Close(), errors.New("not as it was left"))
	}
	text, err := linesOf(changes)
	if err == nil {
		_, err = f.Write(text)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	j.lines, j.size, j.fit = j.lines+len(changes), j.size+int64(len(text)), true
	return nil
}

// rewrite replaces the file atomically by one that holds just these records.
func (j *journal) rewrite(records map[store.Key]record) error {
	j.fit = false
	head, err := json.Marshal(journalHead{Version: journalVersion})
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	lines, err := linesOf(records)
	if err != nil {
		return err
	}
	text := slices.Concat(head, []byte("\n"), lines)
	if err := os.MkdirAll(filepath.Dir(j.path), 0o700); err != nil {
		return err
	}
	if err := wholefile.Replace(j.path, text); err != nil {
		return err
	}
	j.lines, j.size, j.fit = len(records), int64(len(text)), true
	return nil
}

// linesOf writes records in the order of their keys.
func linesOf(records map[store.Key]record) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	for _, key := range slices.SortedFunc(maps.Keys(records), store.Key.Compare) {
		if err := enc.Encode(journalLine{key.String(), records[key]}); err != nil {
			return nil, fmt.Errorf("encode: %w", err)
		}
	}
	return out.Bytes(), nil
}
