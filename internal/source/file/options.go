package file

import (
	"log/slog"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Options of a Source. Paths is required, the rest has defaults.
type Options struct {
	// Paths are files and directories; directories are read recursively. They need
	// not exist yet.
	Paths []string
	// StateDir is where generations are kept between runs; empty keeps them in
	// memory only. It is made if it does not exist.
	StateDir string
	// Schema says which kinds and fields are open.
	Schema schema.Options
	// Validator decodes documents; nil makes one from Schema. Several parts may share
	// one, and what it has compiled.
	Validator *schema.Validator
	// Recall is what an earlier run had accepted; nil is nothing.
	Recall Recall
	// Log gets warnings about what is no object's fault. Default: discard.
	Log *slog.Logger
	// Now is the clock of the batches' ObservedAt. Default: time.Now.
	Now func() time.Time
	// Quiet is how long a file that is kept open must rest before it is read.
	// Default: 1 s.
	Quiet time.Duration
	// Grace is how long something must be missing before it counts as deleted.
	// Default: 250 ms.
	Grace time.Duration
}

// Recall gives back what an earlier run had accepted.
type Recall interface {
	// Revision returns the last accepted revision of an object, validated anew, with its
	// generation, and false if there is none.
	Revision(store.Key) (schema.Object, bool)
	// File is where an object came from.
	File(store.Key) string
	// In returns the objects that came from files of which in is true, in order.
	In(in func(file string) bool) []store.Key
}

// Defaults of Options.
const (
	DefaultQuiet = time.Second
	DefaultGrace = 250 * time.Millisecond
)

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Validator == nil {
		o.Validator = schema.New(o.Schema)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Quiet == 0 {
		o.Quiet = DefaultQuiet
	}
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	return o
}
