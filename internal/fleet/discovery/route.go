package discovery

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/pkg/spelling"
)

// route is a path and what can be done with it.
type route struct {
	pattern string
	// open is true for what needs no token and says nothing of proxies and leases.
	open       bool
	operations []operation
}

type operation struct {
	method string
	do     func(a *API, c *call) error
}

const (
	leases = "/v1/leases"
	ofOne  = leases + "/{id}"
	report = ofOne + "/report"
)

// routes are all there are.
var routes = []route{
	{"/healthz", true, []operation{{http.MethodGet, (*API).live}}},
	{"/readyz", true, []operation{{http.MethodGet, (*API).ready}}},
	{"/openapi.json", true, []operation{{http.MethodGet, (*API).describe}}},
	{"/v1/proxies", false, []operation{{http.MethodGet, (*API).list}}},
	{leases, false, []operation{{http.MethodPost, (*API).acquire}}},
	{ofOne, false, []operation{{http.MethodPut, (*API).renew}, {http.MethodDelete, (*API).release}}},
	{report, false, []operation{{http.MethodPost, (*API).report}}},
}

// patterns are those of all routes.
func patterns() []string {
	var out []string
	for _, r := range routes {
		out = append(out, r.pattern)
	}
	return out
}

// find returns the route of a path that is still escaped, and the lease's ID in it. Paths
// are compared as they are sent: one with dots or twice a slash is no other path.
func find(path string) (*route, string) {
	pattern, id := path, ""
	if rest, ok := strings.CutPrefix(path, leases+"/"); ok {
		pattern = ofOne
		if id, ok = strings.CutSuffix(rest, "/report"); ok {
			pattern = report
		}
		if id == "" || id == "." || id == ".." || strings.Contains(id, "/") {
			return nil, ""
		}
		id, _ = url.PathUnescape(id)
	}
	for i := range routes {
		if routes[i].pattern == pattern {
			return &routes[i], id
		}
	}
	return nil, ""
}

// shown is the path without what differs.
func (r *route) shown() string {
	if r == nil {
		return "unknown"
	}
	return r.pattern
}

// allow lists the methods.
func (r *route) allow() string {
	var all []string
	for _, o := range r.operations {
		all = append(all, o.method)
		if o.method == http.MethodGet {
			all = append(all, http.MethodHead)
		}
	}
	return strings.Join(append(all, http.MethodOptions), ", ")
}

// routed does what is asked.
func (a *API) routed(c *call) error {
	if c.route == nil {
		return unknownPath(c.r.URL.Path)
	}
	method := c.r.Method
	switch method {
	case http.MethodHead:
		method = http.MethodGet
	case http.MethodOptions:
		c.w.Header().Set("Allow", c.route.allow())
		return c.nothing()
	}
	for _, o := range c.route.operations {
		if o.method == method {
			return o.do(a, c)
		}
	}
	c.w.Header().Set("Allow", c.route.allow())
	return refuse(MethodNotAllowed, "method %s is not for %s: send %s", show(c.r.Method), c.route.pattern, c.route.allow())
}

func unknownPath(path string) error {
	remedy := "GET /openapi.json lists what there is"
	if closest, ok := spelling.Closest(path, patterns()); ok {
		remedy = "did you mean " + closest + "? " + remedy
	}
	return refuse(NotFound, "there is nothing at this path: %s", remedy)
}

// serving refuses everything that needs the store, while another process has it.
func (a *API) serving() error { return a.Serving() }

// live says that the process answers.
func (a *API) live(c *call) error {
	c.write(http.StatusOK, textType, []byte("ok\n"))
	return nil
}

// ready says whether leases are granted here.
func (a *API) ready(c *call) error {
	select {
	case <-a.stopping:
		return refuse(IsStopping, "this process ends: ask again, and another one answers").after(soon)
	default:
	}
	if err := a.serving(); err != nil {
		return err
	}
	return a.live(c)
}
