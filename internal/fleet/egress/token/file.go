package token

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/pkg/wholefile"
)

// maxFile is how long a file of tokens may be, in bytes: about 10,000 of them.
const maxFile = 1 << 20

// lookEvery is how soon another file is noticed.
const lookEvery = time.Second

// File is a file of tokens as it was last without a bad line.
type File struct {
	path string
	set  atomic.Pointer[Set]
	text string // of what was read last, good or bad; that of Watch
	log  *slog.Logger
}

// Open reads a file of tokens. The error says what is wrong with which lines.
func Open(path string, log *slog.Logger) (*File, error) {
	f := &File{path: path, log: log}
	text, err := wholefile.Read(path, maxFile)
	if err != nil {
		return nil, err
	}
	set, err := Parse(string(text))
	if err != nil {
		return nil, err
	}
	f.text = string(text)
	f.set.Store(&set)
	return f, nil
}

// Set is who may use the super-proxy now.
func (f *File) Set() Set { return *f.set.Load() }

// Watch looks whether the file is another until ctx ends. What cannot be used is logged
// once, and what was there before goes on.
func (f *File) Watch(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for missing, before := false, f.text; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		text, err := wholefile.Read(f.path, maxFile)
		switch {
		case err != nil && !missing:
			f.log.Error("egress tokens cannot be read; those from before stay", observe.KeyFile, f.path, observe.KeyError, err)
		case err == nil && string(text) != f.text && string(text) == before: // not half written
			f.take(string(text))
		}
		missing, before = err != nil, string(text)
	}
}

func (f *File) take(text string) {
	f.text = text
	set, err := Parse(text)
	if err != nil {
		for _, line := range lines(err) {
			f.log.Error("egress tokens are refused; those from before stay", observe.KeyFile, f.path, observe.KeyError, line)
		}
		return
	}
	f.set.Store(&set)
	if set.Len() == 0 {
		f.log.Warn("egress tokens changed: there is none, so nobody is let in", observe.KeyFile, f.path)
		return
	}
	f.log.Info("egress tokens changed", observe.KeyFile, f.path, observe.KeyTotal, set.Len())
}

// lines takes joined errors apart.
func lines(err error) []error {
	if joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); ok {
		return joined.Unwrap()
	}
	return []error{err}
}
