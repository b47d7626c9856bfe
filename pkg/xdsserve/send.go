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
//  3. (listeners, scopes and tables that use a cluster still warming stay here;
//     their parts that do not use it go ahead)
//  4. tables and scopes, before the listeners that begin to look routes up in
//     them, where the proxy has asked for them already; then listeners, added,
//     changed and removed
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
		r.queued, r.meanwhile = false, nil
		s.looked++
		switch {
		case r.want == nil && s.prompt(r) && s.mayLeave(r):
			gone = append(gone, r)
		case r.want == nil:
			s.leave(r) // no longer at once
		case !s.needs(r):
		case s.waits(r):
			if r.meanwhile = s.interim(r); r.meanwhile == nil {
				kept = append(kept, r)
			} else {
				together = append(together, r)
			}
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
	case r.gone, r.want == nil, !s.covered(r) && !s.pushes(r):
		return false
	case r.refused != nil:
		return r.force && r.held != nil && r.held.wire != nil
	case r.force:
		return true
	case r.flights == 0 && len(r.doubt) > 0:
		return true
	}
	if latest := r.latest(); latest != nil && latest.Version == r.want.Version {
		return false
	}
	return r.flights == 0 || r.removing || s.overtakes(r.kind)
}

// pushes reports whether a record goes unasked. Until the proxy has asked for any
// endpoints, it drops all of them, and does not even answer.
func (s *session) pushes(r *record) bool { return r.pushed && s.asked[endpoints] }

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
	if s.greet[k] && s.catalog.count(s.group, k) == 0 || len(s.absent[k]) > 0 {
		s.send(k, nil, nil, s.absent[k])
	}
	s.greet[k], s.absent[k] = false, nil
	for len(rs) > 0 || len(gone) > 0 {
		if s.full(k) {
			return append(rs, gone...)
		}
		n := fitting(rs)
		s.send(k, rs[:n], gone, nil)
		rs, gone = rs[n:], nil
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

// sendAlone sends records one by one.
func (s *session) sendAlone(k kind, rs []*record) []*record {
	slices.SortFunc(rs, byName)
	for n, r := range rs {
		if s.full(k) {
			return rs[n:]
		}
		if r.stuck {
			s.unstick(r)
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
		it := r.offer()
		f.seq = max(f.seq, it.seq)
		resp.Resources = append(resp.Resources, it.wire)
		s.sending(r, it)
		f.sent = append(f.sent, carried{r, it, r.sends, r.epoch})
	}
	for _, r := range gone {
		f.seq = s.seq
		r.flights, r.sent, r.removing, r.due = r.flights+1, nil, true, noTime
		r.sends++
		f.removed = append(f.removed, carried{r, nil, r.sends, r.epoch})
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

// sending notes that a version is on its way.
func (s *session) sending(r *record, it *item) {
	s.claim(r, it)
	if r.late {
		s.emit(Event{Kind: WarmTimedOut, Seq: it.seq, Type: r.kind.Type(), Names: []string{r.name}})
	}
	r.flights, r.sent, r.touched = r.flights+1, it, true
	r.sends++
	r.force, r.removing, r.late = false, false, false
	if r.meanwhile == nil {
		r.holdUntil = noTime
	}
	r.meanwhile = nil
	if r.kind == clusters {
		s.follow(r, it)
	}
}

// follow sends behind a cluster its endpoints, asked for or not: a changed
// cluster drops them and does not ask again. Where the proxy refuses what is
// published it gets what it had, or else the word that there are none: without
// either the cluster would warm for 15 s, and no cluster be acknowledged.
func (s *session) follow(c *record, it *item) {
	delete(s.cold, c)
	if it.SlowToWarm {
		s.cold[c] = s.now.Add(s.opts.WarmTimeout)
	}
	for _, u := range it.uses {
		if u.kind != endpoints {
			continue
		}
		e := s.records[u.kind][u.name]
		e.pushed, e.force, e.declined = true, true, false
		s.reopen(e)
		s.queue(e)
		if e.refused != nil && !s.needs(e) {
			s.setHeld(e, nil)
			s.absent[endpoints] = append(s.absent[endpoints], e.name)
		}
	}
}
