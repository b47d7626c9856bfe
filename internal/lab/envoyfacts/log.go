package envoyfacts

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

// logPoll is how often the log is read again while its mark is missing.
const logPoll = 20 * time.Millisecond

// Tried is what a line of an access log says: which request it was, and how often Envoy
// tried to find an answer: once also when there was no host to try, and not at all
// when it answered by itself.
type Tried struct {
	Request  string
	Attempts int
}

// AccessLog is an access log that Envoy is still writing to.
type AccessLog struct {
	// Path of the file; Envoy writes to it some time after the fact.
	Path string
	// Read reads one line, without its end. Lines that are not of a request are not ok.
	Read func(line []byte) (tried Tried, ok bool)
	// Mark has Envoy log a request of that name, which no other request has.
	Mark func(ctx context.Context, name string) error

	marks  int
	offset int64 // of the first line that has not been read
	tried  map[uint64]int
}

// Attempts returns how often each request was tried that was logged before the call,
// by the number that is its name. It makes a mark and reads until it finds it: Envoy
// writes its lines in order, so what comes before the mark is then complete.
func (l *AccessLog) Attempts(ctx context.Context) (map[uint64]int, error) {
	l.marks++
	mark := fmt.Sprintf("mark-%d", l.marks)
	if err := l.Mark(ctx, mark); err != nil {
		return nil, fmt.Errorf("mark the access log: %w", err)
	}
	tick := time.NewTicker(logPoll)
	defer tick.Stop()
	for {
		found, err := l.read(mark)
		if err != nil || found {
			return l.tried, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("access log %s: envoy has not written what it logged: %w", l.Path, context.Cause(ctx))
		}
	}
}

// read takes the complete lines that are new, and tells whether the mark is among them.
func (l *AccessLog) read(mark string) (found bool, err error) {
	file, err := os.Open(l.Path)
	if err != nil {
		return false, fmt.Errorf("read the access log: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(l.offset, io.SeekStart); err != nil {
		return false, fmt.Errorf("read the access log: %w", err)
	}
	if l.tried == nil {
		l.tried = map[uint64]int{}
	}
	for in := bufio.NewReader(file); ; {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return found, nil // a line without its end is not complete
		}
		if err != nil {
			return found, fmt.Errorf("read the access log: %w", err)
		}
		l.offset += int64(len(line))
		found = l.take(line[:len(line)-1]) == mark || found
	}
}

func (l *AccessLog) take(line []byte) string {
	tried, ok := l.Read(line)
	if !ok {
		return ""
	}
	if id, err := strconv.ParseUint(tried.Request, 10, 64); err == nil {
		l.tried[id] = tried.Attempts
	}
	return tried.Request
}
