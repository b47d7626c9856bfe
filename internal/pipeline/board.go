package pipeline

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/publish/status"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/source/file"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// board is what readers see of the loop beside the evaluation: where objects
// stand, what the source refused, and what the proxies say of listeners. Only
// the loop writes; it is safe for concurrent use.
type board struct {
	current atomic.Pointer[published]

	mu       sync.RWMutex
	origins  map[store.Key]snapshot.Origin
	byFile   map[string][]snapshot.Finding
	byObject map[store.Key][]snapshot.Finding // refusals, in order of the file
	accepted map[store.Key]time.Time          // when the accepted revision was accepted
	rejected map[store.Key]time.Time          // since when an object is rejected
	facts    map[model.GatewayID]status.Facts
	notes    map[scoped]string    // warnings from publishing
	behind   map[string]time.Time // by proxy: since when it has something to answer
	files    int
}

func newBoard() *board {
	b := &board{
		origins: map[store.Key]snapshot.Origin{}, byFile: map[string][]snapshot.Finding{},
		byObject: map[store.Key][]snapshot.Finding{}, accepted: map[store.Key]time.Time{},
		rejected: map[store.Key]time.Time{}, facts: map[model.GatewayID]status.Facts{},
		notes: map[scoped]string{}, behind: map[string]time.Time{},
	}
	b.current.Store(&published{})
	return b
}

// news is what a batch says beside its edits.
type news struct {
	// refused are documents that the source refuses now and did not before.
	refused []snapshot.Finding
	// released are objects of which no document is refused any more, and whose
	// accepted revision is what stands there again.
	released map[store.Key]time.Time // since when they were rejected
}

// observe takes what a batch says beside its edits.
func (b *board) observe(batch snapshot.Batch) news {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.Copy(b.origins, batch.Origins)
	edited := map[store.Key]bool{}
	for _, e := range batch.Edits {
		edited[e.Key] = true
		if e.Value == nil {
			delete(b.origins, e.Key)
		}
	}
	standing := map[store.Key]bool{}
	out := news{released: map[store.Key]time.Time{}}
	for _, path := range slices.Sorted(maps.Keys(batch.Findings)) {
		for _, f := range b.byFile[path] {
			standing[f.Object] = true
		}
		out.refused = append(out.refused, b.replace(path, batch.Findings[path], batch.ObservedAt)...)
	}
	for key := range standing {
		b.release(key, edited, out.released)
	}
	b.files = batch.Files
	return out
}

// release notes that no document of an object is refused any more. If the batch
// edits the object, the round tells.
func (b *board) release(key store.Key, edited map[store.Key]bool, released map[store.Key]time.Time) {
	still := slices.ContainsFunc(b.byObject[key], func(f snapshot.Finding) bool { return !b.beside(f) })
	since, was := b.rejected[key]
	if still || !was || edited[key] {
		return
	}
	delete(b.rejected, key)
	if _, serves := b.accepted[key]; serves {
		released[key] = since
	}
}

// replace sets the findings of one file, and returns those that are new.
func (b *board) replace(path string, findings []snapshot.Finding, now time.Time) []snapshot.Finding {
	before := map[string]bool{}
	for _, f := range b.byFile[path] {
		before[f.Content] = true
		b.unrefer(f.Object, path)
	}
	delete(b.byFile, path)
	if len(findings) > 0 {
		b.byFile[path] = findings
	}
	var fresh []snapshot.Finding
	for _, f := range findings {
		b.refer(f, now)
		if !before[f.Content] || f.Content == "" {
			fresh = append(fresh, f)
		}
	}
	return fresh
}

// unrefer drops what one file says of an object.
func (b *board) unrefer(key store.Key, path string) {
	left := slices.DeleteFunc(slices.Clone(b.byObject[key]), func(f snapshot.Finding) bool { return f.File == path })
	if len(left) == 0 {
		delete(b.byObject, key)
		return
	}
	b.byObject[key] = left
}

// refer finds a finding by its object.
func (b *board) refer(f snapshot.Finding, now time.Time) {
	if f.Object.Name == "" {
		return
	}
	b.byObject[f.Object] = append(b.byObject[f.Object], f)
	if _, known := b.rejected[f.Object]; !known && !b.beside(f) {
		b.rejected[f.Object] = now
	}
}

// beside tells that a finding is about another document than the one that counts:
// it refuses nothing of what the object is.
func (b *board) beside(f snapshot.Finding) bool {
	if f.Step.Reason == file.DuplicateObject.Name {
		return true
	}
	at, known := b.origins[f.Object]
	return known && at.File != f.File
}

func (b *board) origin(key store.Key) (snapshot.Origin, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	o, ok := b.origins[key]
	return o, ok
}

// refusals are why the source refuses the document of this object, and what it
// says of other documents of the same object.
func (b *board) refusals(key store.Key) (refused, beside []snapshot.Finding) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, f := range b.byObject[key] {
		if b.beside(f) {
			beside = append(beside, f)
		} else {
			refused = append(refused, f)
		}
	}
	return refused, beside
}

// findings are all refusals of the source, by file, then in order of the file.
func (b *board) findings() []snapshot.Finding {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var out []snapshot.Finding
	for _, path := range slices.Sorted(maps.Keys(b.byFile)) {
		out = append(out, b.byFile[path]...)
	}
	return out
}

// refusedKind returns the kind as a refused document writes it, whatever the case.
func (b *board) refusedKind(kind string) string {
	for _, key := range b.refusedKeys() {
		if strings.EqualFold(key.Collection, kind) {
			return key.Collection
		}
	}
	return kind
}

func (b *board) refusedKeys() []store.Key {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return slices.Collect(maps.Keys(b.byObject))
}

func (b *board) fileCount() int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.files
}

// landed notes that revisions were accepted, rejected or deleted in a round.
func (b *board) landed(changes []change, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range changes {
		switch c.what {
		case wasDeleted:
			delete(b.accepted, c.key)
			delete(b.rejected, c.key)
		case wasRejected:
			if _, standing := b.rejected[c.key]; !standing {
				b.rejected[c.key] = now
			}
		default:
			b.accepted[c.key] = now
			delete(b.rejected, c.key)
		}
	}
}

func (b *board) acceptedAt(key store.Key) (time.Time, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	t, ok := b.accepted[key]
	return t, ok
}

func (b *board) rejectedSince(key store.Key) (time.Time, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	t, ok := b.rejected[key]
	return t, ok
}

func (b *board) factsOf(g model.GatewayID) status.Facts {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.facts[g]
}

// unprove forgets what proxies said of listeners that changed; nil means of all.
func (b *board) unprove(g model.GatewayID, listeners []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	facts, known := b.facts[g]
	if !known {
		return
	}
	left := maps.Clone(facts.Listeners)
	if listeners == nil {
		clear(left)
	}
	for _, key := range listeners {
		delete(left, key)
	}
	b.facts[g] = status.Facts{Listeners: left, Addresses: facts.Addresses}
}

func (b *board) setFacts(g model.GatewayID, f status.Facts) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.facts[g] = f
}

// forget drops what proxies said of a Gateway that is gone.
func (b *board) forget(g model.GatewayID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.facts, g)
}

func (b *board) note(s scoped) (string, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	n, ok := b.notes[s]
	return n, ok
}

func (b *board) setNote(s scoped, message string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notes[s] = message
}

// dropNotes drops the warnings about a group's resources.
func (b *board) dropNotes(group string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.notes, func(s scoped, _ string) bool { return s.Group == group })
}

// answered notes whether a proxy still has something to answer.
func (b *board) answered(proxy string, behind bool, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch _, since := b.behind[proxy]; {
	case !behind:
		delete(b.behind, proxy)
	case !since:
		b.behind[proxy] = now
	}
}

func (b *board) behindSince(belief xdsserve.Belief, now time.Time) time.Time {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if since, ok := b.behind[belief.Proxy]; ok {
		return since
	}
	return now
}
