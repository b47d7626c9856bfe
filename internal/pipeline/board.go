package pipeline

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/publish/status"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
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
	byObject map[store.Key]snapshot.Finding
	accepted map[store.Key]time.Time // when the accepted revision was accepted
	rejected map[store.Key]time.Time // since when an object is rejected
	facts    map[model.GatewayID]status.Facts
	notes    map[scoped]string    // warnings from publishing
	behind   map[string]time.Time // by proxy: since when it has something to answer
	files    int
}

func newBoard() *board {
	b := &board{
		origins: map[store.Key]snapshot.Origin{}, byFile: map[string][]snapshot.Finding{},
		byObject: map[store.Key]snapshot.Finding{}, accepted: map[store.Key]time.Time{},
		rejected: map[store.Key]time.Time{}, facts: map[model.GatewayID]status.Facts{},
		notes: map[scoped]string{}, behind: map[string]time.Time{},
	}
	b.current.Store(&published{})
	return b
}

// observe takes what a batch says beside its edits, and returns the findings that are news.
func (b *board) observe(batch snapshot.Batch) []snapshot.Finding {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.Copy(b.origins, batch.Origins)
	for _, e := range batch.Edits {
		if e.Value == nil {
			delete(b.origins, e.Key)
		}
	}
	var news []snapshot.Finding
	for _, file := range slices.Sorted(maps.Keys(batch.Findings)) {
		news = append(news, b.replace(file, batch.Findings[file])...)
	}
	b.files = batch.Files
	return news
}

// replace sets the findings of one file.
func (b *board) replace(file string, findings []snapshot.Finding) []snapshot.Finding {
	before := map[string]bool{}
	for _, f := range b.byFile[file] {
		before[f.Content] = true
		delete(b.byObject, f.Object)
	}
	delete(b.byFile, file)
	if len(findings) > 0 {
		b.byFile[file] = findings
	}
	var news []snapshot.Finding
	for _, f := range findings {
		if f.Object.Name != "" {
			b.byObject[f.Object] = f
		}
		if !before[f.Content] || f.Content == "" {
			news = append(news, f)
		}
	}
	return news
}

func (b *board) origin(key store.Key) (snapshot.Origin, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	o, ok := b.origins[key]
	return o, ok
}

// finding returns the source's refusal of a document of this object, if one stands.
func (b *board) finding(key store.Key) (snapshot.Finding, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	f, ok := b.byObject[key]
	return f, ok
}

// findings are all refusals of the source, by file, then in order of the file.
func (b *board) findings() []snapshot.Finding {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var out []snapshot.Finding
	for _, file := range slices.Sorted(maps.Keys(b.byFile)) {
		out = append(out, b.byFile[file]...)
	}
	return out
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

func (b *board) setFacts(g model.GatewayID, f status.Facts) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.facts[g] = f
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
	if message == "" {
		delete(b.notes, s)
		return
	}
	b.notes[s] = message
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
