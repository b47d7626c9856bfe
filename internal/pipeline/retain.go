package pipeline

import (
	"context"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/retain"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Retained keeps accepted revisions for the next process.
type Retained interface {
	// Recalled is what the last process had accepted, as a branch of what is observed.
	Recalled(observed store.View) (store.View, bool)
	// Times are when the kept revision of an object was accepted, and since when a
	// later one is rejected.
	Times(store.Key) (accepted, rejected time.Time)
	// Keep notes revisions; with wait it waits for the disk, but not for long.
	Keep(ctx context.Context, wait bool, revisions ...retain.Revision)
	// Only forgets all objects but those of a view.
	Only(store.View)
}

// unkept is the Retained of a loop that has none.
type unkept struct{}

func (unkept) Recalled(observed store.View) (store.View, bool) { return observed, false }
func (unkept) Times(store.Key) (accepted, rejected time.Time)  { return time.Time{}, time.Time{} }
func (unkept) Keep(context.Context, bool, ...retain.Revision)  {}
func (unkept) Only(store.View)                                 {}

// recallTimes goes on counting from where an earlier process was: when what serves of
// a rejected object was accepted, and since when it is rejected.
func (l *Loop) recallTimes() {
	for key := range l.rejected {
		l.board.recall(key, l.Retained)
	}
	for _, key := range l.board.refusedKeys() {
		l.board.recall(key, l.Retained)
	}
}

func (b *board) recall(key store.Key, from Retained) {
	accepted, rejected := from.Times(key)
	if accepted.IsZero() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.accepted[key], b.recalled[key] = accepted, true
	if _, standing := b.rejected[key]; standing && !rejected.IsZero() {
		b.rejected[key] = rejected
	}
}

// wasRecalled reports whether what serves of an object was accepted by an earlier process.
func (b *board) wasRecalled(key store.Key) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.recalled[key]
}

// keep takes to the disk what differs from one accepted view to the next, and since
// when objects are rejected. What is no more is forgotten by the first round that
// decides about everything. Nothing waits for the first time, nor for endpoints alone.
func (l *Loop) keep(ctx context.Context, from, to store.View, changes []change, complete bool) {
	if !l.started {
		l.recallTimes()
	}
	if complete && !l.pruned {
		l.pruned = true
		l.Retained.Only(to)
	}
	var out []retain.Revision
	wait := false
	kept := map[store.Key]bool{}
	for c := range store.Diff(from, to) {
		if l.rules.Identity(c.Key) == "" {
			continue
		}
		kept[c.Key] = true
		wait = wait || c.Collection != "EndpointSlice"
		out = append(out, l.revision(c.Key, c.New))
	}
	for _, c := range changes {
		if value, serves := to.Get(c.key); serves && !kept[c.key] && c.what != wasDeleted {
			out = append(out, l.revision(c.key, value))
		}
	}
	l.Retained.Keep(ctx, wait && l.started, out...)
}

func (l *Loop) revision(key store.Key, value any) retain.Revision {
	r := retain.Revision{Key: key}
	if object, ok := value.(snapshot.Object); ok {
		r.Object = object
	}
	origin, _ := l.board.origin(key)
	r.File = origin.File
	r.Accepted, _ = l.board.acceptedAt(key)
	if r.Accepted.IsZero() {
		r.Accepted = l.Now()
	}
	r.Rejected, _ = l.board.rejectedSince(key)
	return r
}

// keepOrigins notes objects whose file or whose refusal by the source is all that a
// batch changes.
func (l *Loop) keepOrigins(ctx context.Context, batch snapshot.Batch) {
	if !l.started {
		return
	}
	var out []retain.Revision
	add := func(key store.Key) {
		if value, serves := l.accepted.View().Get(key); serves {
			out = append(out, l.revision(key, value))
		}
	}
	edited := map[store.Key]bool{}
	for _, e := range batch.Edits {
		edited[e.Key] = true // the round keeps it
	}
	for key := range batch.Origins {
		if !edited[key] {
			add(key)
		}
	}
	for _, findings := range batch.Findings {
		for _, f := range findings {
			add(f.Object)
		}
	}
	l.Retained.Keep(ctx, len(batch.Findings) > 0, out...)
}
