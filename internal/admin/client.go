package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// Client asks a running instance. Its errors are lines for users.
type Client struct {
	// Address is HOST:PORT of the admin API.
	Address string
	// Timeout bounds each question; default 10 s.
	Timeout time.Duration
	// Start is the command that starts such an instance; default "gatehouse run --config DIR".
	Start string
}

// maxAnswer is the largest answer that is read, in bytes.
const maxAnswer = 1 << 30

// Verdict returns the verdict of an object; name is "namespace/name", or a name
// alone. The error is an *AbsentError when the object was never seen, and an
// *UnreachableError when nobody answers.
func (c Client) Verdict(ctx context.Context, kind, name string) (verdict.Verdict, error) {
	return ask[verdict.Verdict](ctx, c, objectPath("/v1/verdicts", kind, name))
}

// Verdicts returns the verdicts of a kind, or of all kinds when it is empty.
func (c Client) Verdicts(ctx context.Context, kind string) ([]verdict.Verdict, error) {
	l, err := ask[List[verdict.Verdict]](ctx, c, "/v1/verdicts?kind="+url.QueryEscape(kind))
	return l.Items, err
}

// Objects returns the objects of a kind with their status, or of every kind that
// has one when it is empty.
func (c Client) Objects(ctx context.Context, kind string) ([]json.RawMessage, error) {
	l, err := ask[List[json.RawMessage]](ctx, c, objectPath("/v1/status", kind, ""))
	return l.Items, err
}

// Object returns one object with its status. Errors are as of Verdict.
func (c Client) Object(ctx context.Context, kind, name string) (json.RawMessage, error) {
	return ask[json.RawMessage](ctx, c, objectPath("/v1/status", kind, name))
}

// Overview returns the state of the instance in one page.
func (c Client) Overview(ctx context.Context) (Overview, error) {
	return ask[Overview](ctx, c, "/v1/overview")
}

// Views returns what each proxy believes.
func (c Client) Views(ctx context.Context) ([]View, error) {
	l, err := ask[List[View]](ctx, c, "/v1/views")
	return l.Items, err
}

// InputRejections returns what is watched and not accepted.
func (c Client) InputRejections(ctx context.Context) (InputRejections, error) {
	return ask[InputRejections](ctx, c, "/v1/rejections")
}

// Admit asks for the verdict over a proposal. The error is as of Verdict, or a line that
// says why there is no verdict.
func (c Client) Admit(ctx context.Context, p Proposal) (Admission, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return Admission{}, fmt.Errorf("the proposal has no JSON form: %w", err)
	}
	return exchange[Admission](ctx, c, http.MethodPost, "/v1/admission/set?timeout="+c.timeout().String(), body)
}

// objectPath appends kind and name, each part escaped, as far as they are given.
func objectPath(base, kind, name string) string {
	parts := []string{base}
	if kind != "" {
		parts = append(parts, url.PathEscape(kind))
	}
	if name != "" {
		for part := range strings.SplitSeq(name, "/") {
			parts = append(parts, url.PathEscape(part))
		}
	}
	return strings.Join(parts, "/")
}

func ask[T any](ctx context.Context, c Client, path string) (T, error) {
	return exchange[T](ctx, c, http.MethodGet, path, nil)
}

func (c Client) timeout() time.Duration {
	if c.Timeout == 0 {
		return 10 * time.Second
	}
	return c.Timeout
}

func exchange[T any](ctx context.Context, c Client, method, path string, question []byte) (T, error) {
	var answer T
	ctx, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	body, status, err := c.fetch(ctx, method, path, question)
	if err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %s", c.timeout())
		}
		return answer, &UnreachableError{Address: c.Address, Start: c.Start, Err: err}
	}
	if status != http.StatusOK {
		return answer, refusal(status, body)
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return answer, fmt.Errorf("%s answered something that is no JSON of this version: %w", c.Address, err)
	}
	return answer, nil
}

// fetch returns an answer of the admin API, or an error when it is somebody else's.
func (c Client) fetch(ctx context.Context, method, path string, question []byte) (body []byte, status int, err error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+c.Address+path, bytes.NewReader(question))
	if err != nil {
		return nil, 0, err
	}
	if question != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	// A transport of its own: the environment's HTTP proxy has no business here.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	if err != nil {
		return nil, 0, errors.Unwrap(err) // without the URL
	}
	defer response.Body.Close()
	if response.Header.Get(serverHeader) == "" {
		return nil, 0, fmt.Errorf("something else listens there (HTTP %d)", response.StatusCode)
	}
	body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	return body, response.StatusCode, err
}
