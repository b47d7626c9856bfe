package proxy

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"sync"
)

// maxLine bounds what is kept of a line, in bytes.
const maxLine = 4096

// lines passes a program's output on and remembers the last line that says something.
type lines struct {
	log   io.Writer
	noise func(string) bool

	mu   sync.Mutex
	told string
}

// readAll reads until the end. A line longer than maxLine is passed on in pieces.
func (l *lines) readAll(r io.Reader) {
	in := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
			l.take(string(line))
		}
		if err != nil && err != bufio.ErrBufferFull { //nolint:errorlint // ReadSlice returns it as it is.
			return
		}
	}
}

func (l *lines) take(line string) {
	if l.log != nil {
		_, _ = io.WriteString(l.log, line+"\n") // a log that is lost stops no program
	}
	if strings.TrimSpace(line) == "" || l.noise != nil && l.noise(line) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = strings.TrimSpace(line)
}

func (l *lines) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.told
}
