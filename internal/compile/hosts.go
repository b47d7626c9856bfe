package compile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// host is one host name of one table with the routes that serve there, and what
// each of them has of it. Requests never fall from a host name to a wildcard that
// covers it: the most specific name that any route has decides alone.
type host struct {
	Virtual model.VirtualHost
	Shares  []share // in order of route
	// Entrance is the key of the listener where it has filters, or "".
	Entrance string
}

// share is what one route has of one host.
type share struct {
	Route   string // "Kind namespace/name"
	Gateway model.GatewayID
	Domain  string
	// Entries is how many matches of the route can be reached.
	Entries  int
	Shadows  []shadow
	Clusters []upstream
	Uses     []string // objects by "Kind ns/name", permissions, selections
}

// shadow is a match that can never be reached because of an equal one.
type shadow struct {
	Rule        string // label of the rule
	Winner      string // route, "Kind namespace/name"
	WinningRule string
}

// candidate is one match that wants to be tried on a host.
type candidate struct {
	entry
	place *place
	from  *rules
	rule  *rule
	index int // among the matches of the route
}

// host puts the routes of one host in order.
func (b *build) host(c *derive.Ctx, bucket string) (host, bool) {
	var all []place
	for _, item := range derive.All(c, b.placesByHost, bucket) {
		all = append(all, item.Value)
	}
	if !derive.Has(c, b.tableSpecs, string(all[0].table())) {
		return host{}, false
	}
	var candidates []candidate
	for i := range all {
		r, _ := derive.Get(c, b.rules, all[i].Route)
		candidates = append(candidates, candidatesOf(&all[i], &r)...)
	}
	slices.SortFunc(candidates, candidate.compare)
	return arrange(all, candidates), true
}

func candidatesOf(p *place, r *rules) []candidate {
	var out []candidate
	for i := range r.Rules {
		for _, e := range r.Rules[i].Entries {
			out = append(out, candidate{entry: e, place: p, from: r, rule: &r.Rules[i], index: len(out)})
		}
	}
	return out
}

// compare is negative when the match is tried first: by the host name that its
// route has, then by its own precedence, then by age and name of its route, and
// within a route by the order of rules.
func (a candidate) compare(b candidate) int {
	return cmp.Or(
		compareHosts(a.place.Meeting.Host, b.place.Meeting.Host),
		a.Rank.compare(b.Rank),
		cmp.Compare(a.from.Created, b.from.Created),
		strings.Compare(routeRef(a.place.Route).Name, routeRef(b.place.Route).Name),
		cmp.Compare(a.index, b.index),
	)
}

// arrange drops every match that an equal one goes before, and shares the rest
// among the routes.
func arrange(all []place, candidates []candidate) host {
	section := all[0].Section
	out := host{Entrance: section.entranceKey(), Virtual: model.VirtualHost{
		Table: all[0].table(), Gateway: section.Gateway, Domain: all[0].Meeting.Domain,
		Origins: section.origins(),
	}}
	shares := map[string]*share{}
	for _, p := range all {
		shares[p.Route] = &share{Route: p.Route, Gateway: section.Gateway, Domain: p.Meeting.Domain}
	}
	winners := map[string]candidate{}
	for _, next := range candidates {
		mine := shares[next.place.Route]
		if winner, taken := winners[next.Match]; taken {
			mine.Shadows = append(mine.Shadows, shadow{next.rule.Label, winner.place.Route, winner.rule.Label})
			continue
		}
		winners[next.Match] = next
		mine.take(next)
		out.Virtual.Routes = append(out.Virtual.Routes, landed(next.Route, section))
	}
	for _, s := range sortedMap(shares) {
		s.settle()
		out.Shares = append(out.Shares, *s)
	}
	return out
}

// take records what a match that is served rests on.
func (s *share) take(won candidate) {
	s.Entries++
	s.Clusters = append(s.Clusters, won.rule.Clusters...)
	s.Uses = append(s.Uses, won.rule.Uses...)
	if won.place.Selection != "" {
		s.Uses = append(s.Uses, won.place.Selection)
	}
}

func (s *share) settle() {
	s.Uses = distinct(s.Uses)
	s.Shadows = inOrderOnce(s.Shadows)
	s.Clusters = distinctUpstreams(s.Clusters)
}

func distinctUpstreams(all []upstream) []upstream {
	slices.SortFunc(all, func(a, b upstream) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(all, func(a, b upstream) bool { return a.ID == b.ID })
}

// landed settles what of a route depends on the listener that serves it.
func landed(r model.Route, s section) model.Route {
	if r.Redirect != nil {
		r.Redirect = new(land(*r.Redirect, s.Protocol, s.Port))
	}
	if r.Forward != nil && slices.ContainsFunc(r.Forward.Backends, dependsOnListener) {
		r.Forward = new(*r.Forward)
		r.Forward.Backends = slices.Clone(r.Forward.Backends)
		for i, b := range r.Forward.Backends {
			r.Forward.Backends[i].Session = secured(b.Session, s.Protocol)
			if b.Redirect != nil {
				r.Forward.Backends[i].Redirect = new(land(*b.Redirect, s.Protocol, s.Port))
			}
		}
	}
	return r
}

func dependsOnListener(b model.WeightedBackend) bool { return b.Redirect != nil || b.Session != nil }

// shareItems makes each share a value of its own, so that a verdict runs again
// only when what its own route has of a host changes.
func shareItems(_ *derive.Ctx, _ string, h host) []derive.Item[share] {
	items := make([]derive.Item[share], len(h.Shares))
	for i, s := range h.Shares {
		items[i] = derive.Item[share]{Key: s.Route, Value: s}
	}
	return items
}
