package file

import (
	"log/slog"
	"maps"
	"path/filepath"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// ledger counts the generations of objects: 1 when an object is new, one more
// whenever anything but its metadata changes. It is not for concurrent use.
type ledger struct {
	now   map[store.Key]record
	saver *saver // nil: memory only
}

// record is what is kept of one object.
type record struct {
	Generation int64  `json:"generation"`
	Spec       string `json:"spec"` // hash of everything but the metadata
}

// openLedger continues the ledger in a state directory; an empty dir keeps it in
// memory. One that cannot be used is reported and started anew.
func openLedger(dir string, log *slog.Logger) *ledger {
	l := &ledger{now: map[store.Key]record{}}
	if dir != "" {
		l.saver = newSaver(filepath.Join(dir, "generations.json"), log)
		maps.Copy(l.now, l.saver.load())
	}
	return l
}

// count returns the generation of an object whose content is now in force.
func (l *ledger) count(key store.Key, spec string) int64 {
	r, known := l.now[key]
	if !known || r.Spec != spec {
		r = record{r.Generation + 1, spec}
		l.note(key, r)
	}
	return r.Generation
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
	if r.Generation == 0 {
		delete(l.now, key)
	} else {
		l.now[key] = r
	}
	if l.saver != nil {
		l.saver.note(key, r)
	}
}
