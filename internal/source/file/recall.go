package file

import (
	"maps"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Law: what cannot be read at the start is treated as if it had become so while this
// process ran: the last accepted revision of an earlier run stays in force for a
// document that is refused, for one whose identity cannot be read, for a file that
// cannot be read or is being written, and for a root that is away. What was simply
// removed meanwhile is gone.

// recallAll puts what an earlier run had accepted in the place of what the first look
// could not read. Nothing is recalled afterwards.
func (s *Source) recallAll() {
	x := s.index
	if x.recall == nil {
		return
	}
	for _, key := range slices.SortedFunc(maps.Keys(x.keys), store.Key.Compare) {
		x.recallRefused(key)
	}
	for _, path := range slices.Sorted(maps.Keys(x.files)) {
		x.recallFile(path)
	}
	for path := range s.pending {
		x.recallUnread(func(file string) bool { return file == path }, nil)
	}
	for root := range s.away {
		x.recallUnread(func(file string) bool { return within(root, file) }, nil)
		s.pending[root] = due{at: s.away[root].Add(s.opts.Grace), certain: true} // to tell what stays
	}
	x.recall = nil
}

// recalled is what an earlier run had accepted of an object; nil is nothing.
func (x *index) recalled(key store.Key) *revision {
	if x.recall == nil {
		return nil
	}
	o, ok := x.recall.Revision(key)
	if !ok {
		return nil
	}
	return &revision{value: o.Value, content: "recalled " + o.Content, spec: o.Spec, recalled: true}
}

// recallRefused gives an object that only refused documents define its earlier revision.
func (x *index) recallRefused(key store.Key) {
	entries := x.byKey[key]
	slices.SortFunc(entries, compareEntries)
	if key.Name == "" || len(entries) == 0 || winnerOf(entries) != nil {
		return
	}
	entries[0].revision = x.recalled(key)
}

// recallFile recalls what a file held that cannot be read, or that has a document
// whose identity cannot be.
func (x *index) recallFile(path string) {
	c := x.files[path]
	here := func(file string) bool { return file == path }
	if c.problem != nil {
		x.recallUnread(here, c.problem)
		return
	}
	for _, d := range c.docs {
		if d.blind() {
			d.holds = append(d.holds, x.recallIn(here)...)
			return
		}
	}
}

// recallUnread recalls the objects of files that could not be looked into.
func (x *index) recallUnread(in func(string) bool, p *problem) {
	byFile := map[string][]*entry{}
	for _, e := range x.recallIn(in) {
		byFile[e.path] = append(byFile[e.path], e)
	}
	for path, entries := range byFile {
		c := *x.contents(path)
		c.leaving = append(c.leaving, entries...)
		if p != nil {
			c.problem = &problem{reason: p.reason, message: p.message, absent: p.absent, keeps: true}
		}
		x.files[path] = &c
		x.paths[path] = true
	}
}

// recallIn makes entries of the objects that files held and that nothing defines now.
func (x *index) recallIn(in func(string) bool) (out []*entry) {
	for _, key := range x.recall.In(in) {
		if len(x.byKey[key]) > 0 {
			continue
		}
		if r := x.recalled(key); r != nil {
			e := &entry{key: key, path: x.recall.File(key), revision: r, leaving: true}
			x.byKey[key] = []*entry{e}
			x.keys[key] = true
			out = append(out, e)
		}
	}
	return out
}

// adopt takes a recalled revision as it was accepted.
func (x *index) adopt(key store.Key, r *revision) snapshot.Object {
	x.ledger.adopt(key, record{Generation: r.value.GetGeneration(), Spec: r.spec, Created: createdAt(r.value)})
	return r.value
}

func createdAt(o snapshot.Object) int64 {
	if at := o.GetCreationTimestamp(); !at.IsZero() {
		return at.Unix()
	}
	return 0
}
