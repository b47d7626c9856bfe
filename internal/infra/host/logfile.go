package host

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	// maxLog is how large a log may become; a larger one is moved to NAME.1, in the
	// place of the one before: when a process starts, and every trimInterval.
	maxLog       = 64 << 20
	trimInterval = time.Minute
	// tailBytes and tailLines bound what is told of a log.
	tailBytes = 8 << 10
	tailLines = 3
)

// openLog opens a log for appending and rotates it first if it is too large.
func openLog(path string, limit int64) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > limit {
		err = os.Rename(path, path+".1")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
}

// trim moves what a log has to NAME.1 if it is too large. The process goes on
// writing to the same file, which it opened for appending; what it writes
// between the copy and the cut is lost. A full disk is no reason not to cut.
func trim(path string, limit int64) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || info.Size() <= limit {
		return err
	}
	return errors.Join(copyFile(path, path+".1"), os.Truncate(path, 0))
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// tail returns the last lines of a log that were written after an offset.
func tail(path string, from int64) []string {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil
	}
	if from > size { // it was cut
		from = 0
	}
	from = max(from, size-tailBytes)
	data, err := io.ReadAll(io.NewSectionReader(file, from, size-from))
	if err != nil {
		return nil
	}
	return lastLines(string(data))
}

// lastLines returns the last lines that are not blank, without Envoy's prefix
// "[time][thread][level][logger] [file:line] ".
func lastLines(text string) []string {
	var lines []string
	for _, line := range slices.Backward(strings.Split(text, "\n")) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if lines = append(lines, trimPrefix(line)); len(lines) == tailLines {
			break
		}
	}
	slices.Reverse(lines)
	return lines
}

func trimPrefix(line string) string {
	for rest := line; strings.HasPrefix(rest, "["); {
		_, after, ok := strings.Cut(rest, "]")
		if !ok {
			break
		}
		if rest = after; strings.HasPrefix(after, " ") && !strings.HasPrefix(after, " [") {
			return strings.TrimSpace(after)
		}
		rest = strings.TrimPrefix(rest, " ")
	}
	return line
}
