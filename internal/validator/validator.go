// Package validator is what judges complete outputs before they are published: the
// contract of validators, which the folders below implement. A validator gets resources
// and answers accepted, refused or unavailable; it knows no objects beyond their names,
// and decides nothing about what to publish. Implementations may block.
package validator

import (
	"context"
	"iter"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// Validator judges candidates. It is called for one candidate at a time.
type Validator interface {
	// Name is how operators know it, for example "proving envoy".
	Name() string
	// Judges reports whether a change of resources of a type needs its verdict.
	Judges(xdsserve.Type) bool
	// Validate judges a candidate. It returns before ctx ends or soon after; a
	// verdict that was not reached is unavailable. Afterwards the validator is at the
	// candidate if it accepted it, and as before otherwise.
	Validate(ctx context.Context, c Candidate) Verdict
}

// Candidate is complete output to be judged.
type Candidate struct {
	// Delta turns what the validator accepted last into the candidate, resources of types
	// that it does not judge included; the first one holds everything.
	Delta xdsserve.Update
	// Inverse turns the candidate into what was accepted last.
	Inverse xdsserve.Update
	// Baseline yields the resources that were accepted last, All those of the candidate.
	Baseline, All iter.Seq[xdsserve.Resource]
}

// Verdict is what a validator says. The zero Verdict accepts.
type Verdict struct {
	Refusals []Refusal
	// Unavailable is why there is no verdict, in one line; it is empty otherwise, and
	// then Refusals count. It speaks against no object.
	Unavailable string
}

// Refusal is one cause to refuse a candidate. It may name resources, objects, both or
// nothing; what it names leads to the objects at fault without a search.
type Refusal struct {
	Resources []xdsserve.Scoped
	Objects   []store.Key
	// Reason is one of verdict.All; the zero Reason means verdict.RefusedByValidator.
	Reason verdict.Reason
	// Field is the path of the field at fault in the object, if it is known.
	Field   string
	Message string // one line: value, cause, remedy
}
