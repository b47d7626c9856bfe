// Package checkpoint writes down what a store of leases in memory holds, at most once a
// second and only what is new, and gives it back to the next process: lease IDs, keys,
// sessions and cooldowns survive. [Run] has the only goroutine and blocks as long as its
// Sink does; the store is locked only while a few bytes of each lease are copied.
//
// What a process wrote in its last second is lost when it is killed. The leases that
// ended are kept as far as there is room, the latest first.
package checkpoint

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// Source is the store: [lease.Memory].
type Source interface {
	// Changes grows with what is to be written.
	Changes() uint64
	State() lease.State
	// Restore takes nothing of a state that it returns an error for.
	Restore(state lease.State) error
}

// Sink keeps one value outside of the process. Its calls end with their context.
type Sink interface {
	// Load returns what was stored last, nil if nothing was.
	Load(ctx context.Context) ([]byte, error)
	// Store replaces it as a whole, or leaves it as it was. One that several processes share
	// refuses who does not lead: [ErrNotLeading].
	Store(ctx context.Context, content []byte) error
	// Aside keeps what could not be read, nil if not even that was got, where nobody overwrites it but the
	// next such, and says where that is.
	Aside(ctx context.Context, content []byte) (where string, err error)
	// Most is how long content may be, in bytes; 0 is any length. Content for a Sink with a
	// limit is compressed.
	Most() int
	// String names it for logs.
	String() string
}

// ErrNotLeading means that another process may own the value: there is nothing to be
// tried again.
var ErrNotLeading = errors.New("this process does not lead")

// Options of a checkpoint; all are required but Every.
type Options struct {
	Source Source
	Sink   Sink
	Log    *slog.Logger
	// Every is the least time between two writes; a second by default.
	Every time.Duration
}

// Times of calls, and between those of a Sink that fails.
const (
	callTime  = 5 * time.Second
	patience  = 15 * time.Second
	lastPause = 10 * time.Second
)

// Restore gives the store what was written last. What cannot be read is logged, kept
// aside, and the store is left empty; a Sink that does not answer is asked for a quarter of a
// minute. The error is that of ctx alone: a fleet without its past still leases.
func Restore(ctx context.Context, o Options) error {
	content, err := load(ctx, o)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if content == nil && err == nil {
		return nil
	}
	var state lease.State
	if err == nil {
		state, err = Decode(content)
	}
	if err == nil {
		err = o.Source.Restore(state)
	}
	if err != nil {
		o.setAside(ctx, content, err)
		return nil
	}
	o.Log.Info("leases and cooldowns of before are in force", observe.KeyPath, o.Sink.String(),
		observe.KeyTotal, len(state.Leases)+len(state.Cooldowns))
	return nil
}

func load(ctx context.Context, o Options) (content []byte, err error) {
	until := time.Now().Add(patience)
	for pause := 100 * time.Millisecond; ; pause *= 2 {
		call, cancel := context.WithTimeout(ctx, callTime)
		content, err = o.Sink.Load(call)
		cancel()
		if err == nil || time.Now().Add(pause).After(until) {
			return content, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

func (o Options) setAside(ctx context.Context, content []byte, why error) {
	call, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	where, err := o.Sink.Aside(call, content)
	if err != nil {
		where = "nowhere: " + err.Error()
	}
	o.Log.Error("leases and cooldowns of before cannot be read: proxies are leased as if there were none",
		observe.KeyPath, o.Sink.String(), observe.KeyFile, where, observe.KeyError, why)
}

// Run writes until ctx ends, then once more, and returns. Nobody else is to use the
// store by then; a process that leads gives the lead back afterwards.
func Run(ctx context.Context, o Options) {
	if o.Every == 0 {
		o.Every = time.Second
	}
	w := &writer{Options: o}
	tick := time.NewTicker(o.Every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.write(ctx)
		case <-ctx.Done():
			w.again = time.Time{}
			w.write(context.WithoutCancel(ctx))
			return
		}
	}
}

// writer knows what was written.
type writer struct {
	Options
	written uint64 // Source.Changes
	failing bool
	pause   time.Duration
	again   time.Time // not before
}

// write writes what is new, if there is something.
func (w *writer) write(ctx context.Context) {
	changes := w.Source.Changes() // before the state: what comes between is written twice
	if changes == w.written || time.Now().Before(w.again) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	content, err := Fit(w.Source.State(), w.Sink.Most())
	if err == nil {
		err = w.Sink.Store(ctx, content)
	}
	if err != nil {
		w.failed(err)
		return
	}
	w.written = changes
	if w.failing {
		w.Log.Info("leases and cooldowns are written down again", observe.KeyPath, w.Sink.String())
	}
	w.failing, w.pause, w.again = false, 0, time.Time{}
}

// failed has it tried again, later each time, and says so once.
func (w *writer) failed(err error) {
	w.pause = min(max(2*w.pause, w.Every), lastPause)
	w.again = time.Now().Add(w.pause)
	if errors.Is(err, ErrNotLeading) || w.failing {
		return
	}
	w.failing = true
	w.Log.Error("leases and cooldowns cannot be written down: a restart would lose them; tried again",
		observe.KeyPath, w.Sink.String(), observe.KeyError, err)
}
