package kubernetes_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	core_v1 "k8s.io/api/core/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider/providertest"
)

func plainPod(name string) *core_v1.Pod {
	return &core_v1.Pod{Name: name, Spec: core_v1.PodSpec{Containers: []core_v1.Container{{Name: "proxy", Image: image}}}}
}

// way is between a provider and its API server, and answers as one would that fails.
type way struct {
	mu   sync.Mutex
	now  providertest.Fault
	dark string // a namespace
}

func (w *way) fail(f providertest.Fault, dark string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now, w.dark = f, dark
}

func (w *way) after(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		w.mu.Lock()
		f, dark := w.now, w.dark
		w.mu.Unlock()
		return call{r, next, dark}.with(f)
	})
}

// call is one request on its way.
type call struct {
	*http.Request
	next http.RoundTripper
	dark string
}

func (c call) pass() (*http.Response, error) { return c.next.RoundTrip(c.Request) }

// list tells a list from a read of one pod.
func (c call) list() bool {
	return c.Method == http.MethodGet && strings.HasSuffix(c.URL.Path, "/pods")
}

func (c call) with(f providertest.Fault) (*http.Response, error) {
	const unavailable, hidden = "the server is currently unable to handle the request", "etcdserver: request timed out"
	create, read, remove := c.Method == http.MethodPost, c.Method == http.MethodGet && !c.list(), c.Method == http.MethodDelete
	switch {
	case f == providertest.CreateLost && create, f == providertest.DeleteLost && remove:
		return c.unheard()
	case f == providertest.CreateUnavailable && create, f == providertest.DeleteUnavailable && remove:
		return c.status(http.StatusServiceUnavailable, "ServiceUnavailable", unavailable)
	case f == providertest.CreateInvalid && create:
		return c.status(http.StatusUnprocessableEntity, "Invalid", `Pod "px" is invalid: spec.containers[0].ports[0].containerPort: Invalid value: 0`)
	case f == providertest.QuotaNow && create:
		return c.status(http.StatusForbidden, "Forbidden", `pods "px" is forbidden: exceeded quota: small, requested: pods=1, used: pods=5, limited: pods=5`)
	case f == providertest.GetUnavailable && read, f == providertest.ListUnavailable && c.list(),
		f == providertest.ListPartial && strings.Contains(c.URL.Path, "/"+c.dark+"/"):
		return c.status(http.StatusInternalServerError, "InternalError", hidden)
	case f == providertest.GetDenies && read:
		return c.status(http.StatusNotFound, "NotFound", "pods not found")
	case f == providertest.Hangs:
		<-c.Context().Done()
		return nil, c.Context().Err()
	case f == providertest.Throttles:
		return c.status(http.StatusTooManyRequests, "TooManyRequests", "too many requests")
	case f == providertest.Forbids:
		return c.status(http.StatusForbidden, "Forbidden", `pods is forbidden: User "fleet" cannot do this in the namespace "crawl"`)
	default:
		return c.changed(f)
	}
}

// unheard lets the request be carried out.
func (c call) unheard() (*http.Response, error) {
	answer, err := c.pass()
	if err != nil {
		return nil, err
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	return nil, errors.New("connection reset by peer")
}

// status answers as an API server does.
func (c call) status(code int, reason, message string) (*http.Response, error) {
	path := strings.Split(c.URL.Path, "/")
	text := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":%q,"details":{"name":%q,"kind":"pods"}}`,
		code, reason, message, path[len(path)-1])
	h := http.Header{"Content-Type": {"application/json"}, "Retry-After": {"1"}}
	return &http.Response{StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", Header: h, Body: io.NopCloser(strings.NewReader(text)), Request: c.Request}, nil
}

// changed passes the request on and changes what is asked for or answered.
func (c call) changed(f providertest.Fault) (*http.Response, error) {
	const before = "before the beginning"
	query := c.URL.Query()
	first := query.Get("continue") == ""
	switch {
	case f == providertest.ListPages && c.list():
		query.Set("limit", "1")
	case query.Get("continue") == before:
		query.Del("continue")
	}
	c.URL.RawQuery = query.Encode()
	answer, err := c.pass()
	switch {
	case err != nil:
		return nil, err
	case f == providertest.ListEmptyPage && c.list() && first:
		return edit(answer, func(list map[string]any) {
			list["items"], list["metadata"] = []any{}, map[string]any{"continue": before}
		})
	case f == providertest.ListRepeats && c.list():
		return edit(answer, func(list map[string]any) {
			items, _ := list["items"].([]any)
			list["items"] = append(items, items...)
		})
	case f == providertest.ClockSkew:
		return edit(answer, skew)
	}
	return answer, nil
}

func edit(answer *http.Response, change func(map[string]any)) (*http.Response, error) {
	defer func() { _ = answer.Body.Close() }()
	var object map[string]any
	if err := json.NewDecoder(answer.Body).Decode(&object); err != nil {
		return nil, err
	}
	change(object)
	text, err := json.Marshal(object)
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	answer.Header.Del("Content-Length")
	return answer, err
}

// skew sets the clock that creation times are of ahead.
func skew(object map[string]any) {
	items, _ := object["items"].([]any)
	for _, i := range items {
		skew(i.(map[string]any))
	}
	meta, _ := object["metadata"].(map[string]any)
	if text, ok := meta["creationTimestamp"].(string); ok {
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			meta["creationTimestamp"] = at.Add(providertest.Skew).Format(time.RFC3339)
		}
	}
}
