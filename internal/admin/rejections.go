package admin

import (
	"net/http"
	"time"
)

// InputRejection is a watched input that is not accepted: an observed revision of an
// object, or a document that became none.
type InputRejection struct {
	Object   InputObject      `json:"object"`
	Observed ObservedRevision `json:"observed"`
	// Accepted is the revision that was accepted last, whether or not it serves; nil when
	// none was.
	Accepted *AcceptedRevision `json:"accepted"`
	// Since is when the object was first rejected without having been accepted again.
	Since   time.Time `json:"since"`
	Reason  string    `json:"reason"`
	Field   string    `json:"field,omitempty"`
	Message string    `json:"message"`
	Remedy  string    `json:"remedy,omitempty"` // unless the message has it
	// Validator is who refused it: "schema", "checks", "proxies", or the name of a validator.
	Validator string `json:"validator"`
	Where     string `json:"where,omitempty"` // "examples/shop/search.yaml:18"
	// Serves is what is in force meanwhile: "generation 3, accepted 2026-11-30T09:12:04Z",
	// or "nothing".
	Serves string `json:"serves"`
	// RetainedSeconds is for how long the accepted revision has served in its place.
	RetainedSeconds int64 `json:"retainedSeconds,omitempty"`
	More            int   `json:"more,omitempty"` // further reasons, which its verdict has
}

// InputObject names the object of a rejection, as far as it could be read.
type InputObject struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// FullName is "namespace/name", or "name" when cluster-scoped.
func (o InputObject) FullName() string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

// ObservedRevision is what was rejected.
type ObservedRevision struct {
	// Generation is 0 for a document that became no object.
	Generation int64 `json:"generation,omitempty"`
	// Content is a hash of a document that became no object.
	Content string `json:"content,omitempty"`
	// Deleted tells that the rejected change is a deletion.
	Deleted bool `json:"deleted,omitempty"`
}

// AcceptedRevision is what was accepted last.
type AcceptedRevision struct {
	Generation int64 `json:"generation"`
	// At is when it was accepted; absent if that is not known.
	At time.Time `json:"at,omitzero"`
}

// InputRejections is the body of GET /v1/rejections.
type InputRejections struct {
	// InputRejections are in order of kind, name and place.
	InputRejections []InputRejection `json:"inputRejections"`
}

func (a *api) rejections(w http.ResponseWriter, _ *http.Request) {
	respond(w, http.StatusOK, InputRejections{list(a.Reporter.InputRejections()).Items})
}
