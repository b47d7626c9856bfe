package fakegce

import (
	"errors"
	"net/http"
	"net/http/httptest"
)

// Transport carries requests to the service without a network, for tests in synthetic
// time. Any host will do.
func (c *Cloud) Transport() http.RoundTripper { return transport{c} }

type transport struct{ c *Cloud }

// RoundTrip implements [http.RoundTripper].
func (t transport) RoundTrip(r *http.Request) (answer *http.Response, err error) {
	defer func() {
		switch broken := recover(); {
		case broken == nil:
		case errors.Is(asError(broken), http.ErrAbortHandler) && r.Context().Err() != nil:
			err = r.Context().Err()
		case errors.Is(asError(broken), http.ErrAbortHandler):
			err = errors.New("connection reset by peer")
		default:
			panic(broken)
		}
	}()
	in := r.Clone(r.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	t.c.ServeHTTP(w, in)
	answer = w.Result()
	answer.Request = r
	return answer, r.Context().Err()
}

func asError(v any) error {
	err, _ := v.(error)
	return err
}
