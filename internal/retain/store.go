package retain

import (
	"context"
	"encoding/json"
	"hash/maphash"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
	"github.com/gatehouse-proxy/gatehouse/pkg/journal"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Options of a Store. All are required but Wait and Retry.
type Options struct {
	Dir       string // the state directory
	Validator *schema.Validator
	Log       *slog.Logger
	Metrics   *observe.Metrics
	// Wait is how long Keep waits for the disk. Default: 250 ms.
	Wait time.Duration
	// Retry is the time between two attempts while the disk refuses. Default: 10 s.
	Retry time.Duration
}

const (
	defaultWait  = 250 * time.Millisecond
	defaultRetry = 10 * time.Second
)

// Store is what is kept. Keep has one caller; everything is safe for concurrent use.
type Store struct {
	Options
	journals [2]*journal.Journal // of all objects but Secrets, and of these

	mu      sync.Mutex
	known   map[store.Key]mark     // what is on the disk
	waiting map[store.Key]Revision // what is not yet
	done    chan struct{}          // closed when what waits now is on the disk
	stalled bool                   // the disk took too long
	failed  bool                   // the last attempt failed
	wake    chan struct{}
	// secrets tells the goroutine that writes that earlier Secrets are still on the disk.
	secrets bool
}

// mark tells records apart without their bodies.
type mark struct {
	about
	sum uint64
}

var seed = maphash.MakeSeed()

// Open reads what an earlier process left; what cannot be read is told and lost.
func Open(o Options) *Store {
	if o.Wait == 0 {
		o.Wait = defaultWait
	}
	if o.Retry == 0 {
		o.Retry = defaultRetry
	}
	s := &Store{
		Options: o, known: map[store.Key]mark{}, waiting: map[store.Key]Revision{},
		done: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	s.Metrics.RetainedOnDisk.Set(1)
	files := map[string]string{}
	for i, name := range []string{"accepted.journal", "accepted-secrets.journal"} {
		path := filepath.Join(o.Dir, name)
		_, missing := os.Stat(path)
		var err error
		s.journals[i], err = journal.Open(path, journal.Options{Head: "gatehouse accepted 1"}, func(r journal.Record) { s.load(r, files) })
		if err != nil {
			o.Log.Warn("accepted revisions of an earlier run cannot be read in full", observe.KeyPath, path, observe.KeyObjects, s.journals[i].Len(), observe.KeyError, err)
		}
		// A process that was killed may have left an earlier Secret.
		s.secrets = i == 1 && missing == nil && err == nil
	}
	return s
}

// load notes one record; files has each path once.
func (s *Store) load(r journal.Record, files map[string]string) {
	key := keyOf(r.Key)
	a, object, err := split(r.Value)
	if r.Value == nil || err != nil {
		delete(s.known, key)
		return
	}
	if _, seen := files[a.File]; !seen {
		files[a.File] = a.File
	}
	a.File = files[a.File]
	s.known[key] = mark{a, maphash.Bytes(seed, object)}
}

// keyOf undoes Key.String.
func keyOf(text string) store.Key {
	kind, name, _ := strings.Cut(text, " ")
	if k, known := snapshot.KindOf(kind); known {
		kind = k.Name // one string for all
	}
	return store.Key{Collection: kind, Name: name}
}

func (s *Store) journalOf(key store.Key) *journal.Journal {
	if key.Collection == "Secret" {
		return s.journals[1]
	}
	return s.journals[0]
}

// Revision is the last accepted revision of an object, and false if there is none that
// is still valid.
func (s *Store) Revision(key store.Key) (schema.Object, bool) {
	s.mu.Lock()
	_, known := s.known[key]
	s.mu.Unlock()
	if !known {
		return schema.Object{}, false
	}
	record, err := s.journalOf(key).Read(key.String())
	var out schema.Object
	if err == nil {
		out, err = decode(s.Validator, key, record)
	}
	if err != nil {
		s.Log.Warn("what an earlier run had accepted of an object is of no use", observe.KeyKind, key.Collection, observe.KeyObject, key.Name, observe.KeyError, err)
	}
	return out, err == nil
}

// File is where an object was last read from.
func (s *Store) File(key store.Key) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[key].File
}

// In are the objects that were last read from files of which in is true, in order.
func (s *Store) In(in func(file string) bool) []store.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []store.Key
	for key, m := range s.known {
		if in(m.File) {
			out = append(out, key)
		}
	}
	slices.SortFunc(out, store.Key.Compare)
	return out
}

// Times are when the kept revision of an object was accepted, and since when a later
// one is rejected.
func (s *Store) Times(key store.Key) (accepted, rejected time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.known[key]
	return timeOf(m.about.Accepted), timeOf(m.about.Rejected)
}

// Recalled is what an earlier process had accepted, as a branch of what is observed:
// what is the same in both is not decoded. It reports whether there is anything.
func (s *Store) Recalled(observed store.View) (store.View, bool) {
	s.mu.Lock()
	known := maps.Clone(s.known)
	s.mu.Unlock()
	some := len(known) > 0
	var edits []store.Edit
	for c := range store.Diff(store.View{}, observed) {
		object, persistent := c.New.(snapshot.Object)
		m, was := known[c.Key]
		switch {
		case !persistent:
		case !was:
			edits = append(edits, store.Edit{Key: c.Key})
		case sumOf(object) == m.sum:
			delete(known, c.Key)
		}
	}
	for key := range known {
		edit := store.Edit{Key: key}
		if o, ok := s.Revision(key); ok {
			edit.Value = o.Value
		}
		edits = append(edits, edit)
	}
	return observed.Apply(edits...), some
}

func sumOf(o snapshot.Object) uint64 {
	text, err := json.Marshal(o)
	if err != nil {
		return 0
	}
	return maphash.Bytes(seed, text)
}

// Keep notes what was accepted. With wait it returns when that is on the disk, or the
// disk has taken too long; a disk that did is not waited for again before it is back.
func (s *Store) Keep(ctx context.Context, wait bool, revisions ...Revision) {
	s.mu.Lock()
	for _, r := range revisions {
		s.waiting[r.Key] = r
	}
	done, hopeless := s.done, s.stalled || s.failed
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
	if !wait || hopeless || len(revisions) == 0 {
		return
	}
	timer := time.NewTimer(s.Wait)
	defer timer.Stop()
	select {
	case <-done:
	case <-ctx.Done():
	case <-timer.C:
		s.stall()
	}
}

// Only forgets what is kept of all objects but those that are in a view.
func (s *Store) Only(view store.View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.known {
		if _, there := view.Get(key); !there {
			s.waiting[key] = Revision{Key: key}
		}
	}
}
