package snapshot

import (
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Batch is one atomic set of changes from a source: a new observed revision.
type Batch struct {
	// Edits set or delete objects of the view. An object whose content did not
	// change is not in it, even when its origin did.
	Edits []store.Edit
	// Origins say where objects now stand; they are no input of any evaluation.
	Origins map[store.Key]Origin
	// Findings replace all earlier findings of the files named: nil clears them.
	Findings map[string][]Finding
	// ObservedAt is when the source noticed the change.
	ObservedAt time.Time
	// Initial marks the first batch: everything that was there at the start.
	Initial bool
	// Files is how many files are watched now.
	Files int
}

// Origin is where an object was read from.
type Origin struct {
	File     string `json:"file"`
	Document int    `json:"document"` // from 1
	Line     int    `json:"line"`     // of the document's first line, from 1
}

// Finding is one document, or part of a file, that did not enter the view.
type Finding struct {
	Origin
	// Object is what the document names, as far as it could be read; its Name
	// may be empty.
	Object store.Key
	// Step has the reason, field, value and remedy; its Stage is Accept.
	Step verdict.Step
	// Retained tells that an earlier accepted revision of Object stays in the view.
	Retained bool
	// Content is a hash of the refused text, so that an unchanged refusal is not news.
	Content string
}
