package journal

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/pkg/wholefile"
)

// load reads the file: what counts in it, and whether it can be appended to.
func (j *Journal) load(each func(Record)) error {
	f, err := os.Open(j.path)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode().Perm()&0o077 != 0 {
		_ = f.Chmod(0o600) // if that is refused, it is somebody else's to say who reads it
	}
	lines := reader{from: bufio.NewReaderSize(f, 1<<16)}
	head, whole, err := lines.next()
	if err != nil || !whole || string(head) != j.head {
		return errors.Join(err, fmt.Errorf("the first line is %.80q, want %q", head, j.head))
	}
	faults := j.loadRecords(&lines, each)
	j.fit, j.size = len(faults) == 0 && lines.err == nil && !lines.torn, lines.offset
	return errors.Join(append(faults[:min(len(faults), 3)], lines.err)...)
}

// loadRecords reads what follows the first line; faults are the lines that are damaged.
func (j *Journal) loadRecords(lines *reader, each func(Record)) (faults []error) {
	for number := 2; ; number++ {
		at := lines.offset
		line, whole, err := lines.next()
		if err != nil || !whole {
			return faults
		}
		r, err := parseLine(line)
		if err != nil {
			faults = append(faults, fmt.Errorf("line %d: %w", number, err))
			continue
		}
		j.note(r.Key, span{at, len(line) + 1}, r.Value != nil)
		each(r)
	}
}

// reader reads lines of any length without keeping them.
type reader struct {
	from   *bufio.Reader
	line   []byte
	offset int64 // after the last whole line
	torn   bool  // there is more after it
	err    error // why reading ended, but for the end
}

// next returns a line without its end, and whether it has one.
func (r *reader) next() (line []byte, whole bool, err error) {
	r.line = r.line[:0]
	for {
		part, err := r.from.ReadSlice('\n')
		r.line = append(r.line, part...)
		switch {
		case err == nil:
			r.offset += int64(len(r.line))
			return bytes.TrimSuffix(r.line, []byte("\n")), true, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			r.torn = len(r.line) > 0
			return r.line, false, nil
		default:
			r.err = err
			return nil, false, err
		}
	}
}

// replace writes the file anew: the head, and what fill puts.
func (j *Journal) replace(fill func(put func(key string, line []byte) error) error) error {
	at, size := map[string]span{}, int64(len(j.head)+1)
	err := wholefile.Write(j.path, func(to io.Writer) error {
		w := bufio.NewWriterSize(to, 1<<16)
		_, _ = w.WriteString(j.head + "\n") // Flush returns its error
		err := fill(func(key string, line []byte) error {
			if size+int64(len(line)) > j.max {
				return ErrFull
			}
			at[key] = span{size, len(line)}
			size += int64(len(line))
			_, err := w.Write(line)
			return err
		})
		return errors.Join(err, w.Flush())
	})
	if err != nil {
		return err
	}
	j.at, j.size, j.fit, j.live = at, size, true, size-int64(len(j.head)+1)
	return nil
}

// inOrder are the keys in the order of their lines.
func inOrder(at map[string]span) []string {
	return slices.SortedFunc(maps.Keys(at), func(a, b string) int { return cmp.Compare(at[a].offset, at[b].offset) })
}
