package file

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// flush decides over all marked objects and returns what changed as one batch.
func (x *index) flush(now time.Time) snapshot.Batch {
	b := snapshot.Batch{Origins: map[store.Key]snapshot.Origin{}, Findings: map[string][]snapshot.Finding{}, ObservedAt: now}
	for _, key := range slices.SortedFunc(maps.Keys(x.keys), store.Key.Compare) {
		if key.Name != "" {
			x.decide(key, &b)
		}
		for _, e := range x.byKey[key] {
			x.paths[e.path] = true // another file's entry may have won or lost
		}
	}
	for path := range x.paths {
		found := x.findingsOf(path)
		if !reflect.DeepEqual(found, x.findings[path]) {
			b.Findings[path] = found
		}
		if len(found) == 0 {
			delete(x.findings, path)
		} else {
			x.findings[path] = found
		}
	}
	// Fresh ones: to go through a map takes as long as it ever was.
	x.keys, x.paths = map[store.Key]bool{}, map[string]bool{}
	return b
}

// decide finds the revision of an object that counts, and adds what that changes.
func (x *index) decide(key store.Key, b *snapshot.Batch) {
	entries := x.byKey[key]
	slices.SortFunc(entries, compareEntries)
	winner, before := winnerOf(entries), x.inForce[key]
	switch {
	case winner != nil:
		x.enforce(key, winner, before, b)
	case before != nil && !slices.ContainsFunc(entries, (*entry).refused):
		delete(x.inForce, key)
		x.ledger.forget(key)
		b.Edits = append(b.Edits, store.Edit{Key: key})
	}
}

// winnerOf returns the first of the sorted entries that has a revision, or nil.
func winnerOf(entries []*entry) *entry {
	for _, e := range entries {
		if e.revision != nil {
			return e
		}
	}
	return nil
}

func (x *index) enforce(key store.Key, winner *entry, before *held, b *snapshot.Batch) {
	now := &held{revision: winner.revision, origin: winner.origin()}
	if before != nil && before.revision.content == winner.revision.content {
		now.Object = before.Object
	} else {
		now.Object = x.valued(key, winner.revision, b.ObservedAt)
		b.Edits = append(b.Edits, store.Edit{Key: key, Value: now.Object})
	}
	if before == nil || before.origin != now.origin {
		b.Origins[key] = now.origin
	}
	x.inForce[key] = now
}

// valued is the object of a revision with what an API server would add.
func (x *index) valued(key store.Key, r *revision, now time.Time) snapshot.Object {
	if r.recalled {
		return x.adopt(key, r)
	}
	return recorded(r.value, x.ledger.count(key, r.spec, now))
}

// recorded returns a copy with what an API server would add, since the value may be
// in a view already.
func recorded(o snapshot.Object, r record) snapshot.Object {
	out := reflect.New(reflect.TypeOf(o).Elem())
	out.Elem().Set(reflect.ValueOf(o).Elem())
	copied := out.Interface().(snapshot.Object) // the same type as o
	copied.SetGeneration(r.Generation)
	if at := o.GetCreationTimestamp(); at.IsZero() && r.Created != 0 {
		copied.SetCreationTimestamp(meta_v1.Unix(r.Created, 0))
	}
	return copied
}

// findingsOf lists what is wrong in a file, in order of place.
func (x *index) findingsOf(path string) (out []snapshot.Finding) {
	c := x.files[path]
	if c == nil {
		return nil
	}
	if c.problem != nil {
		out = append(out, snapshot.Finding{
			File:     path,
			Step:     c.problem.reason.Step(verdict.Accept, verdict.WasRejected, c.problem.message),
			Retained: len(c.docs) > 0 || c.problem.keeps, Content: c.problem.message,
		})
	}
	told := x.toldDuplicates(path)
	for _, d := range c.docs {
		for _, e := range d.entries {
			out = append(out, x.findingsFor(d, e, told)...)
		}
	}
	return out
}

// findingsFor lists what is wrong with an object; told are the places of the
// duplicates that were told before.
func (x *index) findingsFor(d *document, e *entry, told map[snapshot.Origin]bool) (out []snapshot.Finding) {
	found := snapshot.Finding{Origin: e.origin(), Object: e.key, Content: d.hash.String()}
	for _, p := range e.problems {
		f := found
		f.Line, f.Step = p.Line, p.Step()
		f.Retained = x.inForce[e.key] != nil
		if e.key.Name == "" {
			f.Retained = len(d.holds) > 0
		}
		out = append(out, f)
	}
	if winner := winnerOf(x.byKey[e.key]); !e.refused() && winner != nil && winner != e && (told[found.Origin] || !x.going[winner.path] && !x.going[e.path]) {
		found.Step, found.Retained = duplicateOf(e.key, winner), true
		out = append(out, found)
	}
	return out
}

// toldDuplicates returns the places at which duplicates were found before; nil
// while no file is going, for then it does not matter.
func (x *index) toldDuplicates(path string) map[snapshot.Origin]bool {
	if len(x.going) == 0 {
		return nil
	}
	out := map[snapshot.Origin]bool{}
	for _, f := range x.findings[path] {
		if f.Step.Reason == DuplicateObject.Name {
			out[f.Origin] = true
		}
	}
	return out
}

func duplicateOf(key store.Key, winner *entry) verdict.Step {
	at := winner.origin()
	return DuplicateObject.Step(verdict.Accept, verdict.Warning, fmt.Sprintf(
		"%q: defined first in %s:%d, which counts; remove one of the two or rename it", key.Name, at.File, at.Line), key).At("metadata.name")
}
