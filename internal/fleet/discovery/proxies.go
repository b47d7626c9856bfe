package discovery

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// attributePrefix begins parameters that proxies are filtered by.
const attributePrefix = "attr."

// filter is what of a list is wanted.
type filter struct {
	lease.Selector
	healthy *bool // nil for both
}

func filterOf(query url.Values) (filter, error) {
	f := filter{Attributes: map[string]string{}}
	var err error
	if f.Namespace, err = namespace(InvalidQuery, query.Get("namespace")); err != nil {
		return f, err
	}
	switch sent := query.Get("healthy"); {
	case !query.Has("healthy"):
	case sent == "true" || sent == "false":
		f.healthy = new(sent == "true")
	default:
		return f, refuse(InvalidQuery, "healthy is %s: send true or false, or leave it out for both", show(sent)).of("healthy")
	}
	for name, values := range query {
		key, ok := strings.CutPrefix(name, attributePrefix)
		if !ok {
			continue
		}
		if err := attribute(InvalidQuery, attributePrefix, key, values[0]); err != nil {
			return f, err
		}
		f.Attributes[key] = values[0]
	}
	return f, nil
}

// list answers with the proxies that suit, in order of namespace and name.
func (a *API) list(c *call) error {
	query, err := queryOf(c.r, attributePrefix, "healthy", "namespace")
	if err != nil {
		return err
	}
	f, err := filterOf(query)
	if err != nil {
		return err
	}
	if err := a.serving(); err != nil {
		return err
	}
	active, err := a.Store.Counts(c.r.Context())
	if err != nil {
		return interrupted(c.r.Context(), err)
	}
	out := proxiesAnswer{Proxies: []proxyAnswer{}}
	for o := range a.Book.All() {
		if f.Matches(&o.Lease) && (f.healthy == nil || *f.healthy == o.Lease.Healthy) {
			out.Proxies = append(out.Proxies, proxyOf(o, active[o.Lease.UID]))
		}
	}
	out.Count = len(out.Proxies)
	return c.answer(http.StatusOK, out)
}
