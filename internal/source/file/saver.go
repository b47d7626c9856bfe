package file

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// saver keeps a journal equal to the ledger, by a goroutine of its own, so that a
// slow or full disk delays nothing. A change costs one record of the journal.
type saver struct {
	ledger      *ledger
	generations *generations
	log         *slog.Logger
	wake        chan struct{}
	behind      bool // the last attempt failed
}

const (
	saveDelay  = 500 * time.Millisecond // gathers the changes of a burst
	retryDelay = 10 * time.Second
)

func newSaver(dir string, l *ledger, log *slog.Logger) *saver {
	return &saver{ledger: l, generations: newGenerations(dir), log: log, wake: make(chan struct{}, 1)}
}

// load returns what the journal holds; nothing if there is none or it is of no use.
func (s *saver) load() map[store.Key]record {
	out, err := s.generations.load()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("generations cannot be read in full, counting starts anew for the others", observe.KeyPath, s.generations.path, observe.KeyObjects, len(out), observe.KeyError, err)
	}
	return out
}

// poke tells that the ledger changed.
func (s *saver) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run writes changes until ctx ends, and then what is left.
func (s *saver) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			s.save()
			return
		case <-s.wake:
		}
		delay := saveDelay
		for !wait(ctx, delay) && !s.save() {
			delay = retryDelay
		}
	}
}

// wait reports whether ctx ended before the delay did.
func wait(ctx context.Context, delay time.Duration) (ended bool) {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return true
	case <-timer.C:
		return false
	}
}

// save writes what changed, and reports whether the journal is up to date.
func (s *saver) save() bool {
	changes := s.ledger.takeUnsaved()
	if len(changes) == 0 && !s.behind {
		return true
	}
	if s.behind || s.generations.append(changes) != nil {
		if err := s.generations.rewrite(s.ledger.all()); err != nil {
			s.behind = true
			s.log.Warn("generations cannot be saved, trying again; a restart may count some of them anew", observe.KeyPath, s.generations.path, observe.KeyError, err)
			return false
		}
	}
	s.behind = false
	return true
}
