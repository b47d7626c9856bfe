package xdsserve

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"slices"
)

// Part is a piece of the Body of a table or scope that stands for itself, as a virtual
// host does. A table waits for its clusters part by part: where one is not ready, the
// part of the same name that the proxy has stays in place of the new one, or none
// where it has none; all other parts go ahead.
type Part struct {
	Name     string
	From, To int    // of Body
	Uses     []Name // sorted; what of the resource's Uses it needs
}

// interim returns what a table or scope that waits is to be meanwhile, or nil when
// the proxy has that already, or when it is not known which parts it has.
func (s *session) interim(r *record) *item {
	if r.held == nil || len(r.held.Parts) == 0 || r.flights > 0 || r.suspect || r.force || len(r.doubt) > 0 {
		return nil
	}
	mixed := mix(r.want.Resource, r.held.Resource, func(p Part) bool {
		return slices.ContainsFunc(usedKeys(p.Uses), func(u key) bool { return s.waitsFor(r, u) })
	})
	if bytes.Equal(mixed.Body, r.held.Body) {
		return nil
	}
	return newItem(r.kind, mixed, r.want.seq, r.want.at)
}

// mix returns a resource of the new one's parts, with those that wait from the old one.
func mix(next, old Resource, waits func(Part) bool) Resource {
	had := map[string]Part{}
	for _, p := range old.Parts {
		had[p.Name] = p
	}
	out := next
	out.Body, out.Parts, out.Uses = nil, nil, nil
	at := 0
	for _, p := range next.Parts {
		out.Body = append(out.Body, next.Body[at:p.From]...)
		at = p.To
		if !waits(p) {
			out.add(p, next.Body)
		} else if stays, there := had[p.Name]; there {
			out.add(stays, old.Body)
		}
	}
	out.Body = append(out.Body, next.Body[at:]...)
	hash := fnv.New64a()
	_, _ = hash.Write(out.Body)
	out.Version = fmt.Sprintf("interim-%016x", hash.Sum64())
	return out
}

// add appends a part of a body.
func (r *Resource) add(p Part, body []byte) {
	from := len(r.Body)
	r.Body = append(r.Body, body[p.From:p.To]...)
	r.Parts = append(r.Parts, Part{Name: p.Name, From: from, To: len(r.Body), Uses: p.Uses})
	r.Uses = append(r.Uses, p.Uses...)
}
