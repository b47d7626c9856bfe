package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Who rejects what no validator has to see.
const (
	bySchema = "schema" // the source: a document that is no object
	byChecks = "checks" // compile and translate
)

// InputRejections are the observed revisions that are not accepted, and the documents
// that became no object.
func (r *Reporter) InputRejections() []admin.InputRejection {
	at, now := r.board.current.Load(), r.now()
	var out []admin.InputRejection
	refused := map[store.Key]bool{}
	for _, f := range r.board.findings() {
		since, beside := r.board.refusedSince(f)
		out = append(out, r.refusedDocument(at, f, since, beside, now))
		refused[f.Object] = refused[f.Object] || !beside
	}
	for key, rejection := range at.rejected {
		if !refused[key] { // a newer document of it is refused: that is what is observed
			out = append(out, r.rejectedRevision(at, key, rejection, now))
		}
	}
	slices.SortStableFunc(out, byObjectAndPlace)
	return out
}

func byObjectAndPlace(a, b admin.InputRejection) int {
	return cmp.Or(
		cmp.Compare(a.Object.Kind, b.Object.Kind), cmp.Compare(a.Object.FullName(), b.Object.FullName()),
		cmp.Compare(a.Where, b.Where), cmp.Compare(a.Message, b.Message),
	)
}

// refusedDocument is the rejection of a document by the source. Beside the document that
// counts it is no later revision of the same object.
func (r *Reporter) refusedDocument(at *published, f snapshot.Finding, since time.Time, beside bool, now time.Time) admin.InputRejection {
	out := rejectionOf(f.Object, f.Step)
	out.Validator, out.Observed.Content, out.Where, out.Since, out.Serves = bySchema, f.Content, place(f.Origin), since, servesNothing
	switch {
	case beside:
	case f.Object.Name == "" && f.Retained:
		out.Serves = "what the file held before"
	default:
		r.inForce(at, f.Object, now, &out)
	}
	return out
}

// rejectedRevision is the rejection of an object by acceptance.
func (r *Reporter) rejectedRevision(at *published, key store.Key, rejection acceptance.Rejection, now time.Time) admin.InputRejection {
	out := rejectionOf(key, rejection.Steps[0])
	out.Validator, out.More = cmp.Or(rejection.By, byChecks), len(rejection.Steps)-1
	out.Observed = admin.ObservedRevision{Generation: generationOf(rejection.Refused), Deleted: rejection.Refused == nil}
	if origin, ok := r.board.origin(key); ok {
		out.Where = place(origin)
	}
	out.Since = r.board.since(key)
	out.Serves = servesNothing
	r.inForce(at, key, now, &out)
	switch {
	case !rejection.Retained:
		out.Serves, out.RetainedSeconds = servesNothing, 0
	case rejection.Narrowed:
		out.Serves += ", as far as the rejected revision lets it"
	}
	return out
}

func rejectionOf(key store.Key, why verdict.Step) admin.InputRejection {
	namespace, name := snapshot.SplitName(key.Name)
	return admin.InputRejection{
		Object: admin.InputObject{Kind: key.Collection, Namespace: namespace, Name: name},
		Reason: why.Reason, Field: why.Field, Message: why.Message, Remedy: admin.Remedy(why),
	}
}

// servesNothing is what is in force of an object without an accepted revision.
const servesNothing = "nothing"

// inForce completes a rejection by what of its object is in force instead.
func (r *Reporter) inForce(at *published, key store.Key, now time.Time, out *admin.InputRejection) {
	value, retained := at.state.View().Get(key)
	if !retained {
		return
	}
	out.Accepted = &admin.AcceptedRevision{Generation: generationOf(value)}
	out.Accepted.At, _ = r.board.acceptedAt(key)
	out.Serves = inWords(*out.Accepted)
	if r.board.wasRecalled(key) {
		out.Serves += " by an earlier run"
	}
	if !out.Since.IsZero() {
		out.RetainedSeconds = int64(now.Sub(out.Since).Seconds())
	}
}

func inWords(a admin.AcceptedRevision) string {
	if a.At.IsZero() {
		return fmt.Sprintf("generation %d", a.Generation)
	}
	return fmt.Sprintf("generation %d, accepted %s", a.Generation, a.At.UTC().Format(time.RFC3339))
}
