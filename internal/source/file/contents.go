package file

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// contents are the documents of one file as they were last read.
type contents struct {
	docs []*document
	// leaving are objects that the file no longer has, until that is certain.
	leaving []*entry
	// problem is why the file cannot be read now; docs then are what it held before.
	problem *problem
}

// entries returns everything that the file contributes.
func (c *contents) entries() (out []*entry) {
	for _, d := range c.docs {
		out = append(out, d.entries...)
		out = append(out, d.holds...)
	}
	return append(out, c.leaving...)
}

// draft is a file on its way from text to contents.
type draft struct {
	path   string
	before *contents
	docs   []*document
	fresh  []freshDocument
	used   map[*document]place // documents of before, where they are now
}

// place is where a document stands in its file.
type place struct{ number, line int }

// freshDocument is a document whose text is new in its file.
type freshDocument struct {
	doc  *document
	text schema.Document
	out  []schema.Object
}

// draftOf splits a file and finds the documents that it had before.
func draftOf(path string, before *contents, text []byte) (*draft, *problem) {
	docs := schema.Split(text)
	if len(docs) > schema.MaxDocuments {
		return nil, &problem{reason: schema.LimitExceeded, message: fmt.Sprintf("more than %d documents: split the file", schema.MaxDocuments)}
	}
	d := &draft{path: path, before: before, used: map[*document]place{}}
	known := map[textHash][]*document{}
	for _, old := range before.docs {
		known[old.hash] = append(known[old.hash], old)
	}
	for _, text := range docs {
		hash := textHash(sha256.Sum256(text.Text))
		if same := known[hash]; len(same) > 0 {
			known[hash] = same[1:]
			d.used[same[0]] = place{text.Number, text.Line}
			d.docs = append(d.docs, same[0])
			continue
		}
		doc := &document{hash: hash, number: text.Number, line: text.Line}
		d.docs = append(d.docs, doc)
		text.Text = slices.Clip(text.Text)
		d.fresh = append(d.fresh, freshDocument{doc: doc, text: text})
	}
	return d, nil
}

// finish makes the new contents once the fresh documents are decoded; before is
// what the file holds now. A refused object keeps the revision that its file had
// for it before.
func (d *draft) finish(before *contents) *contents {
	d.before = before
	for doc, at := range d.used {
		doc.moveTo(at.number, at.line)
	}
	out := &contents{docs: d.docs}
	earlier := d.vanished()
	for _, f := range d.fresh {
		for i, o := range f.out {
			e := newEntry(d.path, f.doc, i, o)
			if old := earlier[e.key]; e.revision == nil && old != nil {
				e.revision = old.revision
			}
			f.doc.entries = append(f.doc.entries, e)
		}
	}
	for _, doc := range d.docs {
		for _, e := range doc.entries {
			delete(earlier, e.key)
		}
		doc.holds = slices.DeleteFunc(doc.holds, func(e *entry) bool { return d.names(e.key) })
		for _, e := range doc.holds {
			delete(earlier, e.key)
		}
	}
	d.keep(out, earlier)
	return out
}

// vanished returns the entries that the file had in texts that it has no more.
func (d *draft) vanished() map[store.Key]*entry {
	out := map[store.Key]*entry{}
	add := func(entries []*entry) {
		for _, e := range entries {
			if e.revision != nil && (out[e.key] == nil || compareEntries(e, out[e.key]) < 0) {
				out[e.key] = e
			}
		}
	}
	for _, old := range d.before.docs {
		if _, used := d.used[old]; !used {
			add(old.entries)
			add(old.holds)
		}
	}
	add(d.before.leaving)
	return out
}

// names reports whether some document of the file defines the object.
func (d *draft) names(key store.Key) bool {
	return slices.ContainsFunc(d.docs, func(doc *document) bool {
		return slices.ContainsFunc(doc.entries, func(e *entry) bool { return e.key == key })
	})
}

// keep leaves the vanished objects in force: under a document that may be one of
// them, else until it is certain that they are gone.
func (d *draft) keep(out *contents, vanished map[store.Key]*entry) {
	var left []*entry
	for _, e := range vanished {
		left = append(left, e)
	}
	slices.SortFunc(left, func(a, b *entry) int { return a.key.Compare(b.key) })
	for i, e := range left {
		copied := *e // the old entry may still be listed under its object
		copied.leaving, copied.problems = true, nil
		left[i] = &copied
	}
	for _, f := range d.fresh {
		if f.doc.blind() {
			f.doc.holds = left
			return
		}
	}
	out.leaving = left
}
