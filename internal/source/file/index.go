package file

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// index knows what every file defines and which definition of each object is in
// force. It reads no file and no clock. Changes are put in by set, fail, remove
// and settle, and come out of flush as one batch.
type index struct {
	validator *schema.Validator
	ledger    *ledger
	recall    Recall // until the first batch

	files    map[string]*contents
	going    map[string]bool // files that are missing: not yet certain
	byKey    map[store.Key][]*entry
	inForce  map[store.Key]*held
	findings map[string][]snapshot.Finding // as last told

	keys  map[store.Key]bool // to decide anew at the next flush
	paths map[string]bool    // whose findings may have changed

	decoded atomic.Int64 // documents parsed and validated, ever
}

// held is the revision of an object that is in force, as it was last told.
type held struct {
	snapshot.Object
	revision *revision
	origin   snapshot.Origin
}

func newIndex(v *schema.Validator, l *ledger) *index {
	return &index{
		validator: v, ledger: l,
		files: map[string]*contents{}, going: map[string]bool{}, byKey: map[store.Key][]*entry{}, inForce: map[store.Key]*held{},
		findings: map[string][]snapshot.Finding{}, keys: map[store.Key]bool{}, paths: map[string]bool{},
	}
}

// text is the whole text of one file.
type text struct {
	path    string
	content []byte
}

// put gives a file the contents of its draft, whose documents are decoded. It
// reports whether the file now lacks an object it had: settle must be told when
// that is certain.
func (x *index) put(d *draft) (lacks bool) {
	before := x.contents(d.path)
	had := before.entries()
	c := d.finish(before)
	x.replace(d.path, had, c)
	return len(c.leaving) > 0
}

func (x *index) contents(path string) *contents {
	if c := x.files[path]; c != nil {
		return c
	}
	return &contents{}
}

// decode decodes documents on all processors.
func (x *index) decode(jobs []*freshDocument) {
	x.decoded.Add(int64(len(jobs)))
	var next atomic.Int64
	work := func() {
		for i := next.Add(1) - 1; i < int64(len(jobs)); i = next.Add(1) - 1 {
			jobs[i].out = x.validator.Decode(jobs[i].text, x.previous)
		}
	}
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(jobs)) - 1 {
		workers.Go(work)
	}
	work()
	workers.Wait()
}

// previous returns the revision of an object that is in force.
func (x *index) previous(key store.Key) snapshot.Object {
	if h := x.inForce[key]; h != nil {
		return h.Object
	}
	if r := x.recalled(key); r != nil {
		return r.value
	}
	return nil
}

// fail notes that a file cannot be read. What it held before stays in force.
func (x *index) fail(path string, p problem) {
	c := *x.contents(path)
	c.problem = &p
	x.files[path] = &c
	x.paths[path] = true
	x.expect(path, false)
}

// expect notes that a file is not there, and that it is not certain that it is
// gone; or that it is no longer so. Its objects stay until it is removed. What is
// defined a second time meanwhile was likely moved, and is no news.
func (x *index) expect(path string, going bool) {
	if c := x.files[path]; c == nil || x.going[path] == going {
		return
	}
	if going {
		x.going[path] = true
		return
	}
	delete(x.going, path)
	for _, e := range x.files[path].entries() {
		x.keys[e.key] = true
	}
}

// remove takes a file out with all its objects.
func (x *index) remove(path string) {
	if x.files[path] != nil {
		x.replace(path, x.files[path].entries(), &contents{})
		delete(x.files, path)
	}
}

// settle makes it certain that what is missing in a file is deleted.
func (x *index) settle(path string) {
	if c := x.files[path]; c != nil && len(c.leaving) > 0 {
		x.replace(path, c.entries(), &contents{docs: c.docs, problem: c.problem})
	}
}

// replace gives a file new contents instead of its old entries, and marks all
// objects of both.
func (x *index) replace(path string, old []*entry, c *contents) {
	gone := make(map[*entry]bool, len(old))
	for _, e := range old {
		gone[e] = true
		x.keys[e.key] = true
	}
	now := c.entries()
	for _, e := range now {
		x.keys[e.key] = true
	}
	for _, e := range old {
		if list := slices.DeleteFunc(x.byKey[e.key], func(e *entry) bool { return gone[e] }); len(list) > 0 {
			x.byKey[e.key] = list
		} else {
			delete(x.byKey, e.key)
		}
	}
	for _, e := range now {
		x.byKey[e.key] = append(x.byKey[e.key], e)
	}
	x.files[path] = c
	x.paths[path] = true
	delete(x.going, path)
}
