package pipeline

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/source/file"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

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
	since, was := b.rejected[key]
	if b.refusedBySource(key) || !was || edited[key] {
		return
	}
	delete(b.rejected, key)
	if _, serves := b.accepted[key]; serves {
		released[key] = since
	}
}

// replace sets the findings of one file, and returns those that are new.
func (b *board) replace(path string, findings []snapshot.Finding, now time.Time) []snapshot.Finding {
	before := b.noticed[path]
	for _, f := range b.byFile[path] {
		b.unrefer(f.Object, path)
	}
	delete(b.byFile, path)
	delete(b.noticed, path)
	if len(findings) > 0 {
		b.byFile[path], b.noticed[path] = findings, map[string]time.Time{}
	}
	var fresh []snapshot.Finding
	for _, f := range findings {
		b.refer(f, now)
		at, known := before[f.Content]
		if !known || f.Content == "" {
			fresh = append(fresh, f)
			at = now
		}
		b.noticed[path][f.Content] = at
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

// refusedBySource reports whether the document of an object is refused now; what was
// accepted is then an earlier revision. The caller holds the lock.
func (b *board) refusedBySource(key store.Key) bool {
	return slices.ContainsFunc(b.byObject[key], func(f snapshot.Finding) bool { return !b.beside(f) })
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

// refusedSince tells since when a document is refused, or its object rejected, and
// whether it is beside the document that counts.
func (b *board) refusedSince(f snapshot.Finding) (since time.Time, beside bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if beside = b.beside(f); !beside {
		if since, known := b.rejected[f.Object]; known {
			return since, false
		}
	}
	return b.noticed[f.File][f.Content], beside
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
