package index

import (
	"net/netip"
	"sync/atomic"
)

// endpoints are those of a Service's slices, each once however many slices list it.
type endpoints struct {
	listed map[netip.AddrPort]*endpoint
	ready  []*endpoint
	next   atomic.Uint32 // of the ready ones
}

type endpoint struct {
	address      string // host:port
	lists, ready int    // of slices that list it, and as ready
	at           int    // in endpoints.ready, if ready
}

func (s *endpoints) add(e entry, port uint16) {
	key := netip.AddrPortFrom(e.address, port)
	one, ok := s.listed[key]
	if !ok {
		one = &endpoint{address: key.String()}
		if s.listed == nil {
			s.listed = map[netip.AddrPort]*endpoint{}
		}
		s.listed[key] = one
	}
	one.lists++
	if !e.ready {
		return
	}
	one.ready++
	if one.ready == 1 {
		one.at = len(s.ready)
		s.ready = append(s.ready, one)
	}
}

// remove tells the address, and whether no slice lists it any more.
func (s *endpoints) remove(e entry, port uint16) (address string, left bool) {
	key := netip.AddrPortFrom(e.address, port)
	one := s.listed[key]
	one.lists--
	if e.ready {
		one.ready--
		if one.ready == 0 {
			s.rest(one)
		}
	}
	if one.lists == 0 {
		delete(s.listed, key)
	}
	return one.address, one.lists == 0
}

// rest takes one out of the ready ones.
func (s *endpoints) rest(one *endpoint) {
	last := s.ready[len(s.ready)-1]
	s.ready[one.at], last.at = last, one.at
	s.ready[len(s.ready)-1] = nil
	s.ready = s.ready[:len(s.ready)-1]
}

// pick spreads sessions over the ready ones; it may be called concurrently.
func (s *endpoints) pick() (address string, ok bool) {
	if len(s.ready) == 0 {
		return "", false
	}
	return s.ready[int(s.next.Add(1)-1)%len(s.ready)].address, true
}
