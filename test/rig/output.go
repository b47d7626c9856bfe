package rig

import (
	"io"
	"os"
	"strings"
	"sync"
)

// Output keeps what is written to it. It is safe for concurrent use.
type Output struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write keeps p.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns what was written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// tee returns a writer to o and to also. A file is passed through as it is, so
// that the process sees whether it is a terminal.
func (o *Output) tee(also io.Writer) io.Writer {
	switch also := also.(type) {
	case nil:
		return o
	case *os.File:
		return also
	default:
		return io.MultiWriter(o, also)
	}
}
