package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"time"
)

// Sizes of what is taken, in bytes.
const (
	// maxReview holds an object and the one that it replaces, of 3 MiB each, which is
	// what an API server takes.
	maxReview = 8 << 20
	// maxProposal is twice the largest file.
	maxProposal = 64 << 20
)

// How long a verdict may take, as API servers have it for webhooks.
const (
	defaultTimeout = 10 * time.Second
	longestTimeout = 30 * time.Second
)

// review answers an AdmissionReview, as API servers and editors send it.
func (a *api) review(w http.ResponseWriter, r *http.Request) {
	body, end, ok := a.proposed(w, r, maxReview)
	if !ok {
		return
	}
	ctx, done := context.WithDeadline(r.Context(), end)
	defer done()
	request, err := readReview(body)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	proposal, evaluated := request.proposal()
	if !evaluated {
		respond(w, http.StatusOK, request.allow())
		return
	}
	admission, err := a.Admitter.Admit(ctx, proposal)
	if err != nil {
		noVerdict(w, err)
		return
	}
	respond(w, http.StatusOK, request.answer(admission))
}

// proposals answers a Proposal: several objects that are saved together.
func (a *api) proposals(w http.ResponseWriter, r *http.Request) {
	body, end, ok := a.proposed(w, r, maxProposal)
	if !ok {
		return
	}
	ctx, done := context.WithDeadline(r.Context(), end)
	defer done()
	var p Proposal
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		fail(w, http.StatusBadRequest, fmt.Sprintf(`the body is no proposal: %v; send {"objects": […], "deletions": [{"kind": …, "name": …}]}`, err))
		return
	}
	if len(p.Objects)+len(p.Deletions) == 0 {
		fail(w, http.StatusBadRequest, `the proposal is empty; send {"objects": […], "deletions": [{"kind": …, "name": …}]}`)
		return
	}
	admission, err := a.Admitter.Admit(ctx, p)
	if err != nil {
		noVerdict(w, err)
		return
	}
	admission.Objects, admission.Findings = list(admission.Objects).Items, list(admission.Findings).Items
	respond(w, http.StatusOK, admission)
}

// proposed reads a body of JSON, and until when there is time; false is that it has
// answered already.
func (a *api) proposed(w http.ResponseWriter, r *http.Request, limit int64) (body []byte, end time.Time, ok bool) {
	var code int
	var err error
	kind, _, unread := mime.ParseMediaType(r.Header.Get("Content-Type"))
	timeout, wrong := timeoutOf(r.URL.Query().Get("timeout"))
	end = time.Now().Add(timeout)
	switch {
	case a.Admitter == nil:
		code, err = http.StatusNotFound, errors.New("this instance judges no proposals")
	case unread != nil || kind != "application/json":
		code, err = http.StatusUnsupportedMediaType, fmt.Errorf("Content-Type %q is not read; send application/json", r.Header.Get("Content-Type"))
	case wrong != nil:
		code, err = http.StatusBadRequest, wrong
	default:
		body, code, err = bodyOf(w, r, limit)
	}
	if err != nil {
		fail(w, code, err.Error())
	}
	return body, end, err == nil
}

// bodyOf reads a body, and says by which code and line it is refused.
func bodyOf(w http.ResponseWriter, r *http.Request, limit int64) (body []byte, code int, err error) {
	body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err == nil {
		return body, http.StatusOK, nil
	}
	if large, is := errors.AsType[*http.MaxBytesError](err); is {
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("the body is larger than %d bytes; propose fewer objects together", large.Limit)
	}
	return nil, http.StatusBadRequest, fmt.Errorf("the body did not arrive: %w; send it again", err)
}

// timeoutOf reads ?timeout=, which API servers set to timeoutSeconds. A tenth of it, and
// at most half a second, is left for the way back.
func timeoutOf(text string) (time.Duration, error) {
	timeout := defaultTimeout
	if text != "" {
		var err error
		if seconds, plain := strconv.Atoi(text); plain == nil {
			text = fmt.Sprintf("%ds", seconds)
		}
		if timeout, err = time.ParseDuration(text); err != nil || timeout <= 0 {
			return 0, fmt.Errorf("timeout %q is no duration; write for example ?timeout=10s", text)
		}
	}
	timeout = min(timeout, longestTimeout)
	return timeout - min(timeout/10, time.Second/2), nil
}

// noVerdict is no answer about the proposal: an API server does what failurePolicy says.
func noVerdict(w http.ResponseWriter, err error) {
	if n, is := errors.AsType[*NoVerdictError](err); is && n.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(seconds(n.RetryAfter)))
	}
	fail(w, http.StatusServiceUnavailable, err.Error())
}

// seconds rounds up.
func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// onlyPost tells who reads that there is something to send.
func onlyPost(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Allow", http.MethodPost)
	fail(w, http.StatusMethodNotAllowed, fmt.Sprintf("%s %s: send what you want to save by POST", r.Method, r.URL.Path))
}
