package host

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

const (
	// maxLog is how large a log may be when a process starts; a larger one is
	// moved to NAME.1, in the place of the one before.
	maxLog = 16 << 20
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
