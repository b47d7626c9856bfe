package fakehetzner

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
)

// Fault answers some requests in place of the API.
type Fault struct {
	// Method and Path, a prefix, say which; empty for all. Lists are paths of no number.
	Method, Path string
	// Lists is true for lists only, false for all but lists, nil for both.
	Lists *bool
	// Project is whose requests; nil for all.
	Project *string
	// Status, Code and Message are the answer; without Code it is a page of something in
	// between. Status 0 is no answer.
	Status        int
	Code, Message string
	// Carried is true if the request is carried out before.
	Carried bool
	// Hangs is true if the answer never comes.
	Hangs bool
}

func (t *Fault) hits(r *http.Request) bool {
	list := r.Method == http.MethodGet && r.URL.Path == "/servers"
	return t != nil && (t.Method == "" || t.Method == r.Method) && strings.HasPrefix(r.URL.Path, t.Path) &&
		(t.Lists == nil || *t.Lists == list) && (t.Project == nil || *t.Project == projectOf(r))
}

type projectKey struct{}

func projectOf(r *http.Request) string {
	name, _ := r.Context().Value(projectKey{}).(string)
	return name
}

// ServeHTTP implements [http.Handler].
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	project, known := f.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	t := f.o.Fault
	if f.o.Goes {
		f.advance()
	}
	f.mu.Unlock()
	r = r.WithContext(context.WithValue(r.Context(), projectKey{}, project))
	switch {
	case !t.hits(r):
	case t.Hangs:
		_, _ = io.Copy(io.Discard, r.Body) // or the end of the client would not be seen
		<-r.Context().Done()
		return
	default:
		f.fail(w, r, t)
		return
	}
	if !known {
		refuse(w, http.StatusUnauthorized, "unauthorized", "the token is invalid")
		return
	}
	f.serve(w, r)
}

func (f *Fake) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mux.ServeHTTP(w, r)
}

func (f *Fake) fail(w http.ResponseWriter, r *http.Request, t *Fault) {
	if t.Carried {
		f.serve(httptest.NewRecorder(), r)
	}
	switch {
	case t.Status == 0:
		panic(http.ErrAbortHandler)
	case t.Code == "":
		http.Error(w, t.Message, t.Status)
	default:
		refuse(w, t.Status, t.Code, t.Message)
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// refuse answers an error, with a number that is new each time, as the API does.
func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("X-Correlation-Id", newID())
	answer(w, status, map[string]any{"error": map[string]any{"code": code, "message": message, "details": nil}})
}
