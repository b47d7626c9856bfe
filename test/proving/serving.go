package proving

import (
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/infra/host"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// Serving is an Envoy that gets resources as the proxy of a Gateway would, and binds its ports.
type Serving struct {
	*Envoy
	has []xdsserve.Resource
}

// Serve runs an Envoy for a Gateway.
func Serve(t testing.TB, gateway string) *Serving {
	t.Helper()
	s := &Serving{Envoy: start(t, gateway, xdsserve.Options{}, func(host.Event) {})}
	s.Begin()
	return s
}

// Refuses returns the names, in order, of what it refuses of complete resources, ports
// that it cannot bind excepted.
func (s *Serving) Refuses(t testing.TB, resources []xdsserve.Resource) []xdsserve.Name {
	t.Helper()
	seq := s.target.Publish(Change(s.has, resources))
	s.has = resources
	var refused []xdsserve.Name
	Until(t, "the serving Envoy has answered", func() bool {
		beliefs := s.target.Ledger(s.group)
		if len(beliefs) != 1 || beliefs[0].Seq < seq {
			return false
		}
		refused = nil
		for _, r := range beliefs[0].Refused {
			if !strings.Contains(r.Message, "cannot bind") {
				refused = append(refused, r.Name)
			}
		}
		return true
	})
	return refused
}

// Change turns complete resources into others.
func Change(from, to []xdsserve.Resource) xdsserve.Update {
	u := xdsserve.Update{Set: to}
	for _, r := range from {
		if !slices.ContainsFunc(to, func(o xdsserve.Resource) bool { return o.Name == r.Name && o.Group == r.Group }) {
			u.Remove = append(u.Remove, xdsserve.Scoped{Group: r.Group, Name: r.Name})
		}
	}
	return u
}
