package admin

import (
	"context"
	"net/http"
)

// Respond answers with a value as JSON.
func Respond(w http.ResponseWriter, status int, body any) { respond(w, status, body) }

// Plain answers "ok" or, with status 503, an error in text.
func Plain(w http.ResponseWriter, err error) { plain(w, err) }

// Refuse answers with a Problem.
func Refuse(w http.ResponseWriter, status int, p Problem) { respond(w, status, p) }

// Profiles adds profiles of the process below /debug/pprof/.
func Profiles(mux *http.ServeMux) { profiles(mux) }

// Ask returns the answer of one path of an admin API. Errors are as of Client.Verdict.
func Ask[T any](ctx context.Context, c Client, path string) (T, error) { return ask[T](ctx, c, path) }
