package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"sync"
)

// Options of a Journal. Head is required.
type Options struct {
	// Head is the first line: what the values are, and the version of their form.
	Head string
	// Max is how many bytes the file may have. Default: 1 GiB.
	Max int64
}

const (
	defaultMax = 1 << 30
	slack      = 128 << 10 // bytes that a file may have beyond twice what counts
)

// What a caller may ask of an error.
var (
	// ErrUnfit tells that the file is not as this Journal left it: Rewrite it.
	ErrUnfit = errors.New("the file is not as it was left")
	// ErrFull tells that the file may not become as long as it would.
	ErrFull = errors.New("the file would be longer than allowed")
	// ErrNone tells that a key has no value.
	ErrNone = errors.New("no such record")
)

// span is where the line of a key's newest value is.
type span struct {
	offset int64
	size   int // with its end
}

// Journal is one file. It is safe for concurrent use.
type Journal struct {
	path, head string
	max        int64

	mu   sync.Mutex
	at   map[string]span
	live int64 // bytes of the lines that count
	size int64 // of the file, while fit
	fit  bool  // the file can be appended to
}

// Open reads the file and calls each with its records in order, of which the last of a
// key counts; the value is valid during the call only. There need not be a file. The
// Journal is usable whatever the error: that is of what could not be read.
func Open(path string, o Options, each func(Record)) (*Journal, error) {
	if o.Max == 0 {
		o.Max = defaultMax
	}
	j := &Journal{path: path, head: o.Head, max: o.Max, at: map[string]span{}}
	err := j.load(each)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return j, err
}

// Len is how many keys have a value.
func (j *Journal) Len() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.at)
}

// Read returns the newest value of a key, or ErrNone, or why it cannot be read.
func (j *Journal) Read(key string) ([]byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	at, known := j.at[key]
	if !known {
		return nil, ErrNone
	}
	f, err := os.Open(j.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	line, err := lineAt(f, key, at)
	if err != nil {
		return nil, err
	}
	r, err := parseLine(bytes.TrimSuffix(line, []byte("\n")))
	return r.Value, err
}

// Append adds records. With an error none of them counts, or only some of the first
// do; after ErrUnfit nothing can be appended before a Rewrite.
func (j *Journal) Append(records ...Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.fit {
		return ErrUnfit
	}
	text, spans, err := linesOf(records, j.size)
	if err != nil {
		return err
	}
	if j.size+int64(len(text)) > j.max {
		if err := j.compact(); err != nil {
			return err
		}
		if text, spans, err = linesOf(records, j.size); err != nil || j.size+int64(len(text)) > j.max {
			return errors.Join(err, ErrFull)
		}
	}
	if err := j.write(text); err != nil {
		return err
	}
	for i, r := range records {
		j.note(r.Key, spans[i], r.Value != nil)
	}
	j.size += int64(len(text))
	return nil
}

func linesOf(records []Record, offset int64) (text []byte, spans []span, err error) {
	for _, r := range records {
		before := len(text)
		if text, err = appendLine(text, r); err != nil {
			return nil, nil, err
		}
		spans = append(spans, span{offset + int64(before), len(text) - before})
	}
	return text, spans, nil
}

// write appends text to the file and waits until the disk has it. What a failure
// leaves is cut off; only if that fails too, the file has to be written anew.
func (j *Journal) write(text []byte) error {
	f, err := os.OpenFile(j.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		j.fit = !errors.Is(err, os.ErrNotExist)
		return err
	}
	info, err := f.Stat()
	if err != nil || info.Size() != j.size {
		j.fit = false
		return errors.Join(err, ErrUnfit, f.Close())
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync()); err != nil {
		j.fit = f.Truncate(j.size) == nil
	}
	return errors.Join(err, f.Close())
}

// note moves a key to its newest line.
func (j *Journal) note(key string, at span, has bool) {
	j.live -= int64(j.at[key].size)
	if !has {
		delete(j.at, key)
		return
	}
	j.at[key] = at
	j.live += int64(at.size)
}

// Wasteful reports whether the file is much longer than what counts in it.
func (j *Journal) Wasteful() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.fit && j.size > 2*j.live+slack
}

// Compact writes the file anew with just what counts. With an error it is as it was.
func (j *Journal) Compact() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.fit {
		return ErrUnfit
	}
	return j.compact()
}

// Mend writes the file anew with what of it can still be read, so that it can be
// appended to; where there is none it begins one. It returns the keys that are lost.
func (j *Journal) Mend() (lost []string, err error) {
	if err := os.MkdirAll(filepath.Dir(j.path), 0o700); err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	before := j.at
	f, err := os.Open(j.path)
	if err == nil {
		defer f.Close()
	}
	err = j.replace(func(put func(string, []byte) error) error {
		for _, key := range inOrder(before) {
			line, err := lineAt(f, key, before[key])
			if err != nil {
				lost = append(lost, key)
			} else if err := put(key, line); err != nil {
				return err
			}
		}
		return nil
	})
	return lost, err
}

// lineAt reads the line of a key, if it is there; f may be nil.
func lineAt(f *os.File, key string, at span) ([]byte, error) {
	line := make([]byte, at.size)
	if _, err := f.ReadAt(line, at.offset); err != nil {
		return nil, err
	}
	if r, err := parseLine(bytes.TrimSuffix(line, []byte("\n"))); err != nil || r.Key != key {
		return nil, fmt.Errorf("record of %q: %w", key, errDamaged)
	}
	return line, nil
}

// Rewrite replaces the file by one with just these records, whatever was in it; it
// makes the folder if need be. With an error the file is as it was.
func (j *Journal) Rewrite(records iter.Seq[Record]) error {
	if err := os.MkdirAll(filepath.Dir(j.path), 0o700); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	var line []byte
	return j.replace(func(put func(string, []byte) error) error {
		for r := range records {
			if r.Value == nil {
				continue
			}
			var err error
			if line, err = appendLine(line[:0], r); err == nil {
				err = put(r.Key, line)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// compact copies the lines that count, in the order of the file.
func (j *Journal) compact() error {
	f, err := os.Open(j.path)
	if err != nil {
		return err
	}
	defer f.Close()
	return j.replace(func(put func(string, []byte) error) error {
		var line []byte
		for _, key := range inOrder(j.at) {
			at := j.at[key]
			line = append(line[:0], make([]byte, at.size)...)
			if _, err := io.ReadFull(io.NewSectionReader(f, at.offset, int64(at.size)), line); err != nil {
				return err
			}
			if err := put(key, line); err != nil {
				return err
			}
		}
		return nil
	})
}
