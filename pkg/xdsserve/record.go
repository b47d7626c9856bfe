package xdsserve

import (
	"slices"
	"time"
)

// record is what a session knows about one resource of its proxy.
type record struct {
	key
	want *item // what the proxy should have; nil when nothing
	held *item // what it acknowledged; nil when nothing
	sent *item // the newest version on its way while flights > 0
	// meanwhile is what goes while a part of want waits.
	meanwhile *item
	// claims are the items whose uses are counted in the records used.
	claims  []claim
	refused *refusal // of want's version
	// doubt are versions that left in a response that was refused as a whole:
	// the proxy may have applied them or not.
	doubt []*item

	users   int32 // resources wanted, on their way or held that use this one
	flights int32 // unanswered responses that have it
	sends   int32 // counts what was sent of it
	epoch   int32 // grows when the proxy unsubscribes: answers to earlier responses no longer count
	open    int32 // 1 + position in session.open; 0 when answered
	openSeq uint64
	ackedAt time.Time

	holdUntil time.Time // end of the wait for warm clusters; zero when not waiting
	due       time.Time // when it may leave; zero when it is not leaving

	subscribed bool // asked for by name
	declined   bool // unsubscribed though in use
	pushed     bool // goes out unasked, behind its cluster
	touched    bool // the proxy may have some version of it
	removing   bool // the newest thing on its way is its removal
	force      bool // to be sent even if the proxy has it
	suspect    bool // to be sent alone
	stuck      bool // refused, though the proxy may take it for applied; see session.unstick
	late       bool // goes although a cluster that it uses is not ready
	queued     bool // in session.dirty
	gone       bool // no longer in session.records
}

// claim counts how often a record refers to an item: as wanted, held,
// or once for each response that carries it.
type claim struct {
	it *item
	n  int
}

type refusal struct {
	version string
	message string
	at      time.Time
}

// latest is what the proxy will have once everything sent has been taken.
func (r *record) latest() *item {
	switch {
	case r.flights == 0:
		return r.held
	case r.removing:
		return nil
	default:
		return r.sent
	}
}

// possible returns what the versions use that the proxy may have, without bodies.
func (r *record) possible() []*item {
	items := slices.Clone(r.doubt)
	for _, c := range r.claims {
		items = append(items, c.it)
	}
	if r.held != nil {
		items = append(items, r.held)
	}
	items = slices.DeleteFunc(items, func(it *item) bool { return it.foreign })
	for i, it := range items {
		items[i] = &item{Name: it.Name, Group: it.Group, Version: it.Version, key: it.key, uses: it.uses, seq: it.seq}
	}
	return items
}

// offer is the version to send: the wanted one; what of it need not wait; or where
// the proxy refuses it, the one that the proxy has.
func (r *record) offer() *item {
	switch {
	case r.refused != nil:
		return r.held
	case r.meanwhile != nil:
		return r.meanwhile
	default:
		return r.want
	}
}

// settledOn reports whether the proxy is known to have exactly this version.
func (r *record) settledOn(it *item) bool {
	return r.held != nil && r.held.Version == it.Version && len(r.doubt) == 0
}
