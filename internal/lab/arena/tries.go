package arena

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// tries finds the tries in vain among the segments of all connections to backends, fed
// in the order in which they were sent.
//
// A try in vain is a connection that is refused, or swallowed because its address has
// vanished, or never answered; or the first new data on a connection that its backend
// does not know any more (RFC 9293, section 3.5.2: a reset without ACK that takes its
// number from the segment it answers), or that is swallowed. A connection counts once,
// however often it repeats itself: what comes after the first try is the same try.
//
// What a backend has taken before it died is no try in vain: it was alive then.
type tries struct {
	open  map[flow]*try
	found []found
}

// try is a connection and what was last tried on it.
type try struct {
	at       lab.Moment // of the opening, then of the newest data
	isn      uint32     // initial sequence number of the client
	next     uint32     // the number after the newest data
	acked    uint32     // what the segment with the newest data acknowledged
	answered bool       // the backend has accepted the connection
	sent     bool       // data, at least once
	counted  bool
}

// found is one try in vain.
type found struct {
	at      lab.Moment
	address netip.Addr
	refused bool
}

func newTries() *tries { return &tries{open: make(map[flow]*try)} }

// see takes the next segment. Swallowed means that it went where nothing comes back.
func (t *tries) see(at lab.Moment, s segment, swallowed bool) {
	switch {
	case s.toBackend && s.rst:
		delete(t.open, s.flow)
	case s.toBackend && s.syn:
		t.opening(at, s, swallowed)
	case s.toBackend && s.payload > 0:
		t.data(at, s, swallowed)
	case s.toBackend && s.fin && !swallowed:
		delete(t.open, s.flow) // no data will follow, old or new
	case s.toBackend:
	case s.rst:
		t.reset(s)
	case s.syn:
		if c := t.open[s.flow]; c != nil {
			c.answered = true
		}
	}
}

func (t *tries) opening(at lab.Moment, s segment, swallowed bool) {
	c := t.open[s.flow]
	if c == nil || c.isn != s.seq {
		if c != nil && !c.answered { // given up
			t.count(s.flow, c, false)
		}
		c = &try{at: at, isn: s.seq, next: s.seq + 1}
		t.open[s.flow] = c
	}
	if swallowed && !c.answered {
		t.count(s.flow, c, false)
	}
}

func (t *tries) data(at lab.Moment, s segment, swallowed bool) {
	c, end := t.open[s.flow], s.seq+uint32(s.payload)
	if c == nil || int32(end-c.next) <= 0 {
		return // from before we looked, or a repetition
	}
	c.at, c.next, c.acked, c.sent = at, end, s.acked, true
	if swallowed {
		t.count(s.flow, c, false)
	}
}

func (t *tries) reset(s segment) {
	c := t.open[s.flow]
	if c == nil {
		return
	}
	refused := !c.answered && s.ack && s.acked == c.isn+1
	unknown := c.sent && !s.ack && s.seq == c.acked
	if refused || unknown {
		t.count(s.flow, c, true)
	}
	delete(t.open, s.flow)
}

func (t *tries) count(f flow, c *try, refused bool) {
	if !c.counted {
		c.counted = true
		t.found = append(t.found, found{c.at, f.backend.Addr(), refused})
	}
}

// inVain returns the tries in vain so far, in order. On the way to a backend and back
// no packet is ever under way, so what is not answered by now was not heard.
func (t *tries) inVain() []found {
	all := slices.Clone(t.found)
	for f, c := range t.open {
		if !c.answered && !c.counted {
			all = append(all, found{c.at, f.backend.Addr(), false})
		}
	}
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.at, b.at), a.address.Compare(b.address))
	})
	return all
}
