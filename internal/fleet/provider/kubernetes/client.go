package kubernetes

import (
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// callTime bounds a call whose caller does not.
const callTime = 30 * time.Second

// patient is a connection on which nothing waits to try again: whoever calls knows
// better when, and a worker that waits holds up other Proxies.
func patient(config *rest.Config) *rest.Config {
	c := rest.CopyConfig(config)
	c.QPS, c.Timeout = -1, callTime
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return unasked{next} })
	return c
}

// unasked takes from answers the header that makes client-go wait and try again.
type unasked struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (u unasked) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := u.next.RoundTrip(r)
	if err == nil {
		answer.Header.Del("Retry-After")
	}
	return answer, err
}
