package file

import (
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// ledger counts the generations of objects: 1 when an object is new, one more
// whenever anything but its metadata changes. It also remembers since when there is
// an object, so that a new one does not go before one that serves. Only one goroutine counts; its saver
// reads beside it.
type ledger struct {
	saver *saver // nil: memory only

	mu      sync.Mutex
	now     map[store.Key]record
	unsaved map[store.Key]bool // changed since the saver took them
}

// record is what is kept of one object.
type record struct {
	Generation int64  `json:"generation,omitzero"`
	Spec       string `json:"spec,omitzero"` // hash of everything but the metadata
	// Created is when the object was first in force, in Unix seconds; 0 is not known.
	Created int64 `json:"created,omitzero"`
}

// openLedger continues the ledger in a state directory; an empty dir keeps it in
// memory. One that cannot be used is reported and started anew.
func openLedger(dir string, log *slog.Logger) *ledger {
	l := &ledger{now: map[store.Key]record{}, unsaved: map[store.Key]bool{}}
	if dir != "" {
		l.saver = newSaver(dir, l, log)
		l.now = l.saver.load()
	}
	return l
}

// count returns the record of an object whose content is now in force. Objects that
// come with the first batch are as old as one another.
func (l *ledger) count(key store.Key, spec string, now time.Time) record {
	r, known := l.now[key]
	if known && r.Spec == spec {
		return r
	}
	if !known && l.saver != nil {
		r.Created = now.Unix()
	}
	r.Generation, r.Spec = r.Generation+1, spec
	l.note(key, r)
	return r
}

// adopt takes the record of an object that an earlier run had, unless there is one.
func (l *ledger) adopt(key store.Key, r record) {
	if _, known := l.now[key]; !known && r.Generation > 0 {
		l.note(key, r)
	}
}

// forget drops a deleted object: if it comes back it is a new one.
func (l *ledger) forget(key store.Key) {
	if _, known := l.now[key]; known {
		l.note(key, record{})
	}
}

// retain forgets all objects but those for which keep is true.
func (l *ledger) retain(keep func(store.Key) bool) {
	for key := range l.now {
		if !keep(key) {
			l.forget(key)
		}
	}
}

// note changes a record; the zero record drops it.
func (l *ledger) note(key store.Key, r record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Generation == 0 {
		delete(l.now, key)
	} else {
		l.now[key] = r
	}
	if l.saver != nil {
		l.unsaved[key] = true
		l.saver.poke()
	}
}

// takeUnsaved returns the records that changed since the last time, the zero record
// for one that is dropped.
func (l *ledger) takeUnsaved() map[store.Key]record {
	l.mu.Lock()
	defer l.mu.Unlock()
	changes := make(map[store.Key]record, len(l.unsaved))
	for key := range l.unsaved {
		changes[key] = l.now[key]
	}
	l.unsaved = map[store.Key]bool{}
	return changes
}

// all returns a copy of the records.
func (l *ledger) all() map[store.Key]record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.now)
}
