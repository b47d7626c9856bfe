package file

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// textHash identifies the text of a document.
type textHash [sha256.Size]byte

func (h textHash) String() string { return hex.EncodeToString(h[:8]) }

// revision is one accepted content of an object.
type revision struct {
	value         snapshot.Object // without generation
	content, spec string
	// recalled tells that an earlier run accepted it; the value has its generation.
	recalled bool
}

// document is one document of a file as it was last read.
type document struct {
	hash    textHash
	number  int
	line    int
	entries []*entry
	// holds are objects that vanished from the file when this document, whose
	// identity cannot be read, appeared in it: it may be one of them, broken.
	holds []*entry
}

// blind reports whether the document defines an object that it does not name.
func (d *document) blind() bool {
	for _, e := range d.entries {
		if e.key.Name == "" {
			return true
		}
	}
	return false
}

// entry is one object of a document.
type entry struct {
	key      store.Key
	path     string
	hash     textHash
	number   int // of the document
	index    int // in the document
	line     int // of the object
	problems []schema.Problem
	// revision is the accepted content: of this text or, if that is refused, of an
	// earlier one. Nil if there is none.
	revision *revision
	// leaving marks an object that its file no longer has, until that is certain.
	leaving bool
}

func newEntry(path string, doc *document, index int, o schema.Object) *entry {
	e := &entry{key: o.Key, path: path, hash: doc.hash, number: doc.number, index: index, line: o.Line, problems: o.Problems}
	if o.Value != nil {
		e.revision = &revision{value: o.Value, content: o.Content, spec: o.Spec}
	}
	return e
}

func (e *entry) refused() bool { return len(e.problems) > 0 }

// compareEntries orders the entries of one object: the first one that has a
// revision counts. What is leaving comes last.
func compareEntries(a, b *entry) int {
	if a.leaving != b.leaving {
		if a.leaving {
			return 1
		}
		return -1
	}
	return cmp.Or(strings.Compare(a.path, b.path), a.number-b.number, a.index-b.index)
}

// moveTo takes an unchanged document's entries to its new place in the file.
func (d *document) moveTo(number, line int) {
	by := line - d.line
	d.number, d.line = number, line
	for _, e := range d.entries {
		e.number = number
		e.line += by
		if by == 0 || len(e.problems) == 0 {
			continue
		}
		moved := make([]schema.Problem, len(e.problems))
		for i, p := range e.problems {
			p.Line += by
			moved[i] = p
		}
		e.problems = moved
	}
}

func (e *entry) origin() snapshot.Origin {
	return snapshot.Origin{File: e.path, Document: e.number, Line: e.line}
}
