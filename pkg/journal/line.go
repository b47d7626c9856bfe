package journal

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
)

// Record is the value of a key. A nil Value tells that there is none any more.
type Record struct {
	Key   string
	Value []byte // one line: without "\n"
}

// sumSize is the length of a checksum in a line.
const sumSize = 16

// appendLine adds the line of a record: checksum, quoted key, and the value if
// there is one.
func appendLine(to []byte, r Record) ([]byte, error) {
	if bytes.IndexByte(r.Value, '\n') >= 0 {
		return to, fmt.Errorf("value of %q has more than one line; write it in one", r.Key)
	}
	start := len(to)
	to = append(to, "0123456789abcdef "...)
	to = strconv.AppendQuote(to, r.Key)
	if r.Value != nil {
		to = append(append(to, ' '), r.Value...)
	}
	copy(to[start:], sumOf(to[start+sumSize+1:]))
	return append(to, '\n'), nil
}

// sumOf is the checksum of what follows it in a line.
func sumOf(text []byte) []byte {
	sum := sha256.Sum256(text)
	return fmt.Appendf(nil, "%016x", sum[:sumSize/2])
}

// errDamaged is a line that is not as it was written.
var errDamaged = errors.New("damaged")

// parseLine reads a line without its end. The value is part of the line.
func parseLine(line []byte) (Record, error) {
	if len(line) < sumSize+1 || line[sumSize] != ' ' || !bytes.Equal(line[:sumSize], sumOf(line[sumSize+1:])) {
		return Record{}, errDamaged
	}
	rest := line[sumSize+1:]
	end := bytes.IndexByte(rest[min(1, len(rest)):], '"') + 1 // keys rarely have escapes
	if end == 0 || bytes.IndexByte(rest[:end], '\\') >= 0 {
		return parseQuoted(rest)
	}
	return recordOf(string(rest[1:end]), rest[end+1:])
}

func parseQuoted(rest []byte) (Record, error) {
	quoted, err := strconv.QuotedPrefix(string(rest))
	if err != nil {
		return Record{}, errDamaged
	}
	key, err := strconv.Unquote(quoted)
	if err != nil {
		return Record{}, errDamaged
	}
	return recordOf(key, rest[len(quoted):])
}

func recordOf(key string, after []byte) (Record, error) {
	switch {
	case len(after) == 0:
		return Record{Key: key}, nil
	case after[0] == ' ':
		return Record{Key: key, Value: after[1:]}, nil
	default:
		return Record{}, errDamaged
	}
}
