package xdsserve

import "google.golang.org/protobuf/encoding/protowire"

// sticks reports whether Envoy may take what it refused for applied: scopes that were
// before the bad one, and every secret. It would acknowledge the same version again
// and do nothing.
func (k kind) sticks() bool { return k == scopes || k == secrets }

// unstick prepares a resource to be sent again after a response with it was refused:
// it first gets the version that it has, which Envoy serves. Where there is none, or
// its content is not known, a scope gets a removal, and a secret, which ignores
// removals, a blank.
func (s *session) unstick(r *record) {
	r.stuck = false
	switch {
	case r.held != nil && !r.held.foreign:
		s.sendInstead(r, r.held)
	case r.kind == secrets:
		s.sendInstead(r, blankSecret(r.key))
	case r.held == nil:
		s.send(r.kind, nil, []*record{r}, nil)
	}
}

// sendInstead sends a version that is not the wanted one.
func (s *session) sendInstead(r *record, it *item) {
	wanted := r.want
	r.want = it
	s.send(r.kind, []*record{r}, nil, nil)
	r.want = wanted
}

// blankSecret is a secret without content. Envoy refuses it, keeps what it serves, and
// forgets that it has seen another version.
func blankSecret(k key) *item {
	const name = 1 // the field of the name
	body := protowire.AppendString(protowire.AppendTag(nil, name, protowire.BytesType), k.name)
	it := newItem(k.kind, Resource{Name: k.Name(), Body: body, Version: "blank"}, 0, noTime)
	it.blank = true
	return it
}
