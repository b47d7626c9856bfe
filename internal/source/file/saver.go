package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// saver keeps a file equal to the ledger. Changes are noted in memory and written
// by a goroutine of its own, so that a slow or full disk delays nothing.
type saver struct {
	path string
	log  *slog.Logger
	wake chan struct{}
	disk map[string]record // what the file should hold; the writer's own

	mu      sync.Mutex
	pending map[store.Key]record
}

// ledgerFile is the form on disk.
type ledgerFile struct {
	Version int               `json:"version"`
	Objects map[string]record `json:"objects"` // by "Kind namespace/name"
}

const (
	ledgerVersion = 1
	saveDelay     = 500 * time.Millisecond // gathers the changes of a burst
	retryDelay    = 10 * time.Second
)

func newSaver(path string, log *slog.Logger) *saver {
	return &saver{path: path, log: log, wake: make(chan struct{}, 1), disk: map[string]record{}, pending: map[store.Key]record{}}
}

// load returns what the file holds; nothing if there is none or it is of no use.
func (s *saver) load() map[store.Key]record {
	out := map[store.Key]record{}
	f, err := readLedger(s.path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn("generations cannot be read, counting starts anew", "file", s.path, "error", err)
		}
		return out
	}
	for name, r := range f.Objects {
		if kind, object, ok := strings.Cut(name, " "); ok && r.Generation > 0 {
			out[store.Key{Collection: kind, Name: object}] = r
			s.disk[name] = r
		}
	}
	return out
}

func readLedger(path string) (f ledgerFile, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return f, fmt.Errorf("parse: %w", err)
	}
	if f.Version != ledgerVersion {
		return f, fmt.Errorf("version is %d, want %d", f.Version, ledgerVersion)
	}
	return f, nil
}

// note queues a change.
func (s *saver) note(key store.Key, r record) {
	s.mu.Lock()
	s.pending[key] = r
	s.mu.Unlock()
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

// save writes the file if anything changed, and reports whether it is up to date.
func (s *saver) save() bool {
	s.mu.Lock()
	changes := maps.Clone(s.pending)
	s.mu.Unlock()
	if len(changes) == 0 {
		return true
	}
	for key, r := range changes {
		if r.Generation == 0 {
			delete(s.disk, key.String())
		} else {
			s.disk[key.String()] = r
		}
	}
	if err := s.write(); err != nil {
		s.log.Warn("generations cannot be saved, trying again; a restart may count some of them anew", "file", s.path, "error", err)
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.pending, func(key store.Key, r record) bool {
		saved, ok := changes[key]
		return ok && saved == r
	})
	return true
}

// write replaces the file atomically.
func (s *saver) write() error {
	raw, err := json.MarshalIndent(ledgerFile{ledgerVersion, s.disk}, "", " ")
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(s.path), ".generations-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // after the rename there is nothing left to remove
	_, err = f.Write(append(raw, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), s.path)
}
