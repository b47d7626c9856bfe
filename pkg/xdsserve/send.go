package xdsserve

import (
	"cmp"
	"slices"
	"strconv"

	discovery_v3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
)

const (
	// window is how many responses of a kind may be unanswered. Behind it,
	// changes wait and merge. coldWindow is the same for clusters while one is
	// warming, because proxies then acknowledge none.
	window     = 64
	coldWindow = 4096
	// maxResponse is about how many bytes of resources go in one response.
	maxResponse = 16 << 20
)

// pump queues all that may go now, in the order that makes before it breaks:
//
//  1. secrets; clusters that are new or changed
//  2. endpoints, also unasked, of every cluster that has just gone
//  3. (listeners and tables that use a cluster still warming stay here)
//  4. listeners, added, changed and removed; then tables
//  5. (nothing leaves while something that the proxy has, may have or will get uses it)
//  6. (and not before the grace has passed since)
//  7. what is no longer used, in responses of its own
func (s *session) pump() {
	if s.catalog.seq == 0 {
		return // a control plane that has not read its input yet takes nothing away
	}
	s.settle()
	for k := range numKinds {
		s.sendKind(k)
	}
	s.sendLeaving()
}

// sendKind sends what is queued of one kind: what is above suspicion together,
// suspects one by one.
func (s *session) sendKind(k kind) {
	queue := s.dirty[k]
	s.dirty[k] = nil
	var together, suspects, kept, gone []*record
	for _, r := range queue {
		r.queued = false
		s.looked++
		switch {
		case k == listeners && s.mayLeave(r):
			gone = append(gone, r)
		case !s.needs(r):
		case s.waits(r):
			kept = append(kept, r)
		case r.suspect:
			suspects = append(suspects, r)
		default:
			together = append(together, r)
		}
	}
	if k == listeners && len(kept) > 0 {
		// One of them may take over the address of one that goes.
		kept, gone = append(kept, gone...), nil
	}
	kept = append(kept, s.sendTogether(k, together, gone)...)
	kept = append(kept, s.sendAlone(k, suspects)...)
	for _, r := range kept {
		s.queue(r)
	}
}

// needs reports whether a record has something to send.
func (s *session) needs(r *record) bool {
	switch {
	case r.gone, r.want == nil, r.refused != nil:
		return false
	case !s.covered(r) && !r.pushed:
		return false
	case r.force:
		return true
	case r.flights == 0 && len(r.doubt) > 0:
		return true
	}
	if latest := r.latest(); latest != nil && latest.Version == r.want.Version {
		return false
	}
	return r.flights == 0 || s.overtakes(r.kind)
}

// overtakes reports whether a newer version may follow one that is unanswered.
// Usually it waits, and merges with what else comes. But proxies acknowledge
// clusters only when none is warming, and nobody waits for somebody else's.
func (s *session) overtakes(k kind) bool { return k == clusters && len(s.cold) > 0 }

// full reports whether answers have to come before more of a kind may go.
func (s *session) full(k kind) bool {
	if s.overtakes(k) {
		return s.inFlight[k] >= coldWindow
	}
	return s.inFlight[k] >= window
}

// sendTogether sends records in as few responses as their size allows, with the
// removals in the first. It returns what has to wait.
func (s *session) sendTogether(k kind, rs, gone []*record) []*record {
	slices.SortFunc(rs, byName)
	slices.SortFunc(gone, byName)
	if s.full(k) {
		return append(rs, gone...)
	}
	greeting := s.greet[k] && s.catalog.count(s.group, k) == 0
	s.greet[k] = false
	for len(rs) > 0 || len(gone) > 0 || len(s.absent[k]) > 0 || greeting {
		if s.full(k) {
			return rs
		}
		n := fitting(rs)
		s.send(k, rs[:n], gone, s.absent[k])
		rs, gone, s.absent[k], greeting = rs[n:], nil, nil, false
	}
	return nil
}

// fitting returns how many records go in one response, at least one of any.
func fitting(rs []*record) int {
	size := 0
	for n, r := range rs {
		if size += len(r.want.Body); size > maxResponse && n > 0 {
			return n
		}
	}
	return len(rs)
}

func (s *session) sendAlone(k kind, rs []*record) []*record {
	slices.SortFunc(rs, byName)
	for n := range rs {
		if s.full(k) {
			return rs[n:]
		}
		s.send(k, rs[n:n+1], nil, nil)
	}
	return nil
}

func byName(a, b *record) int { return cmp.Compare(a.name, b.name) }

// send queues one response.
func (s *session) send(k kind, rs, gone []*record, absent []string) {
	s.nonce++
	f := &flight{kind: k, absent: absent}
	resp := &discovery_v3.DeltaDiscoveryResponse{
		TypeUrl: string(k.Type()), Nonce: strconv.FormatUint(s.nonce, 10),
		SystemVersionInfo: strconv.FormatUint(s.seq, 10),
	}
	for _, r := range rs {
		f.seq = max(f.seq, r.want.seq)
		resp.Resources = append(resp.Resources, r.want.wire)
		f.sent = append(f.sent, carried{r, r.want, r.epoch})
		s.sending(r)
	}
	for _, r := range gone {
		f.seq = s.seq
		f.removed = append(f.removed, carried{r, nil, r.epoch})
		r.flights, r.sent, r.removing, r.due = r.flights+1, nil, true, noTime
		delete(s.cold, r)
	}
	resp.RemovedResources = f.removedNames()
	s.inFlight[k]++
	s.flights[resp.Nonce] = f
	s.out = append(s.out, action{response: resp, event: Event{
		Kind: Sent, Proxy: s.proxy, Group: s.group, Seq: f.seq, Type: k.Type(),
		Names: f.names(), Removed: resp.RemovedResources, Bytes: proto.Size(resp),
	}})
}

// sending notes that a record's wanted version is on its way. Behind a cluster
// its endpoints follow, asked for or not: a changed cluster drops them and does
// not ask again.
func (s *session) sending(r *record) {
	s.claim(r, r.want)
	if r.late {
		s.emit(Event{Kind: WarmTimedOut, Seq: r.want.seq, Type: r.kind.Type(), Names: []string{r.name}})
	}
	r.flights, r.sent, r.touched = r.flights+1, r.want, true
	r.force, r.removing, r.late, r.holdUntil = false, false, false, noTime
	if r.kind != clusters {
		return
	}
	if r.want.SlowToWarm {
		s.cold[r] = s.now.Add(s.opts.WarmTimeout)
	} else {
		delete(s.cold, r)
	}
	for _, u := range r.want.uses {
		if u.kind == endpoints {
			e := s.records[u.kind][u.name]
			e.pushed, e.force, e.declined = true, true, false
			s.reopen(e)
			s.queue(e)
		}
	}
}
