package admin

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// Problem is the body of every answer that is no success.
type Problem struct {
	// Error is one line with object, cause and remedy.
	Error string `json:"error"`
	// NeverSeen is set when an object was asked for that is not there.
	NeverSeen *NeverSeen `json:"neverSeen,omitempty"`
	// Candidates are set when a name was ambiguous: "namespace/name".
	Candidates []string `json:"candidates,omitempty"`
}

// List is the body of every answer with several items.
type List[T any] struct {
	Items []T `json:"items"`
}

func list[T any](items []T) List[T] {
	if items == nil {
		items = []T{}
	}
	return List[T]{Items: items}
}

func respond(w http.ResponseWriter, status int, body any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(body); err != nil {
		b.Reset()
		status = http.StatusInternalServerError
		_ = e.Encode(Problem{Error: "the answer is no JSON: " + err.Error()})
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // when the peer went away, nobody is left to tell
}

func fail(w http.ResponseWriter, status int, line string) {
	respond(w, status, Problem{Error: line})
}
