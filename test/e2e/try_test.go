package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// story is one file of objects under one host name, and what requests to it get.
type story struct {
	name  string
	host  string // without the domain
	rules string // of one HTTPRoute; or
	yaml  string // whole objects
	tries []try
}

// domain is what the host names of all stories end in.
const domain = ".e2e.test"

// try is one request and everything that its answer must be. What is empty is not looked at.
type try struct {
	method, path, host string
	header             string // "Name: value; Name: value"

	status  int    // 200 when empty
	from    string // the backend that must have answered
	seen    string // "path" or "path?query" that the backend must have seen
	asHost  string // the host that the backend must have seen
	marks   string // the marks that the backend must have seen, joined by ","
	with    string // headers that the backend must have seen; an empty value means absent
	reply   string // headers of the answer; an empty value means absent
	through string // "https": over HTTPS; "tls": the same on the port that is else TCP's
}

func (c try) String() string {
	return strings.Join(strings.Fields(fmt.Sprintf("%s %s%s %s", c.method, c.host, c.path, c.header)), " ")
}

// tell writes the story and waits until each of its requests gets what it must:
// each by itself, because the workers of an Envoy take a new table one after the other.
func (s *stage) tell(t *testing.T, st story) {
	t.Helper()
	host := st.host + domain
	text := st.yaml
	if text == "" {
		text = route(st.host, "http", host, st.rules)
	}
	s.write(t, st.host+".yaml", text)
	for _, c := range st.tries {
		s.eventually(t, st.name+": "+c.String(), func(ctx context.Context) error { return s.try(ctx, host, c) })
	}
}

// try sends one request and returns how its answer differs.
func (s *stage) try(ctx context.Context, host string, c try) error {
	r := rig.Request{Port: s.http, Method: c.method, Host: host, Path: c.path, Header: headers(c.header)}
	if c.host != "" {
		r.Host = c.host
	}
	switch c.through {
	case "https":
		r.Port, r.Roots = s.https, s.roots
	case "tls":
		r.Port, r.Roots = s.tcp, s.roots
	}
	got, err := rig.Do(ctx, r)
	if err != nil {
		return err
	}
	return c.differs(got)
}

func (c try) differs(got rig.Response) error {
	status := c.status
	if status == 0 {
		status = http.StatusOK
	}
	a := got.Answer
	checks := []struct{ what, got, want string }{
		{"status", fmt.Sprint(got.Status), fmt.Sprint(status)},
		{"backend", a.Backend, c.from},
		{"path seen", a.Path + query(a.Query), c.seen},
		{"host seen", a.Host, c.asHost},
		{"marks", strings.Join(a.Marks, ","), c.marks},
	}
	for n, check := range checks {
		if check.got != check.want && (n == 0 || check.want != "") {
			return fmt.Errorf("%s is %q, want %q; the answer is %d %s", check.what, check.got, check.want, got.Status, got.Body)
		}
	}
	if err := lacks(a.Headers, c.with); err != nil {
		return fmt.Errorf("the backend saw %w", err)
	}
	if err := lacks(got.Header, c.reply); err != nil {
		return fmt.Errorf("the answer has %w", err)
	}
	return nil
}

func query(q string) string {
	if q == "" {
		return ""
	}
	return "?" + q
}

// headers reads "Name: value; Name: value".
func headers(text string) http.Header {
	h := make(http.Header)
	for field := range strings.SplitSeq(text, ";") {
		if name, value, ok := strings.Cut(field, ":"); ok {
			h.Add(strings.TrimSpace(name), strings.TrimSpace(value))
		}
	}
	return h
}

// lacks returns the first wanted header that is not there as wanted.
func lacks(have http.Header, wanted string) error {
	for name, values := range headers(wanted) {
		got, want := strings.Join(have.Values(name), ","), strings.Join(values, ",")
		if got != want {
			return fmt.Errorf("%s %q, want %q", name, got, want)
		}
	}
	return nil
}

// count sends n requests and returns how many answers were of each kind: the
// backend's name, or the status when no backend answered.
func (s *stage) count(t *testing.T, host, path string, n int) map[string]int {
	t.Helper()
	client := rig.NewClient(rig.Request{Port: s.http})
	defer client.Close()
	counts := make(map[string]int)
	for range n {
		got, err := client.Do(t.Context(), rig.Request{Port: s.http, Host: host, Path: path})
		if err != nil {
			t.Fatal(err)
		}
		if got.Answer.Backend != "" {
			counts[got.Answer.Backend]++
		} else {
			counts[fmt.Sprint(got.Status)]++
		}
	}
	return counts
}
