package discovery

import "net/http"

// passedOn has another process answer, where one does.
func (a *API) passedOn(next handler) handler {
	return func(c *call) error {
		if a.Elsewhere == nil {
			return next(c)
		}
		other := a.Elsewhere(c.r)
		if other == nil {
			return next(c)
		}
		a.pass(noted{c.w, c}, c.r, other)
		return nil
	}
}

// pass lets those go who wait at another process when this one ends, as if they waited here.
func (a *API) pass(w http.ResponseWriter, r *http.Request, other http.Handler) {
	if r.URL.Query().Has("wait") {
		ctx, cancel := a.waiting(r.Context())
		defer cancel()
		r = r.WithContext(ctx)
	}
	other.ServeHTTP(w, r)
}

// noted tells the log what another process answered.
type noted struct {
	http.ResponseWriter
	call *call
}

// WriteHeader implements [http.ResponseWriter].
func (n noted) WriteHeader(status int) {
	n.call.status = status
	n.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (n noted) Unwrap() http.ResponseWriter { return n.ResponseWriter }
