package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// teller is what this process told of proxies, for a server that loses it. It counts in
// terms: whoever tells first after another process begins one, and the other resigns.
type teller struct {
	id string

	// telling is held while the server is told, so that what is told again never comes
	// after something newer.
	telling sync.Mutex

	mu         sync.Mutex
	term, told int64 // the highest that the server said
	behind     bool  // the server was not told all
	proxies    map[string]lease.Proxy
	removed    map[string]bool
}

// maxRemoved bounds what is remembered.
const maxRemoved = 1 << 14

func newTeller() teller {
	return teller{id: lease.NewID(), proxies: map[string]lease.Proxy{}, removed: map[string]bool{}}
}

// Set implements lease.Store.
func (s *Store) Set(ctx context.Context, p lease.Proxy) error {
	if splits(p.Attributes, p.UID, p.Namespace, p.Name) {
		return fmt.Errorf("proxy %q: its UID, name, namespace or attributes have a NUL in them; take it out", p.Namespace+"/"+p.Name)
	}
	s.teller.telling.Lock()
	defer s.teller.telling.Unlock()
	s.teller.set(p)
	return s.set(ctx, p)
}

func (s *Store) set(ctx context.Context, p lease.Proxy) error {
	doc, err := json.Marshal(p)
	if err != nil {
		return err
	}
	healthy := ""
	if p.Healthy {
		healthy = "1"
	}
	return s.tell(ctx, call{script: s.scripts.set, args: []any{
		s.time(), p.UID, member(p), p.Namespace, p.Instance, p.Address, min(max(p.LatencyMillis, 0), 1<<32-1), healthy,
		max(p.Capacity, 0), max(p.PerTarget, 0), attributes(p.Attributes), doc, s.teller.id,
	}})
}

// Remove implements lease.Store.
func (s *Store) Remove(ctx context.Context, uid string) error {
	s.teller.telling.Lock()
	defer s.teller.telling.Unlock()
	s.teller.remove(uid)
	return s.remove(ctx, uid)
}

func (s *Store) remove(ctx context.Context, uid string) error {
	return s.tell(ctx, call{script: s.scripts.remove, args: []any{s.time(), uid, s.teller.id}})
}

func (s *Store) tell(ctx context.Context, c call) error {
	a, err := s.run(ctx, c)
	if err == nil && !a.is("told") {
		err = s.unknown(a)
	}
	if err != nil {
		s.teller.fail()
		return err
	}
	s.teller.note(a.number(1), a.number(2))
	return nil
}

// Retain removes the proxies that keep does not want: those that went while nobody told.
func (s *Store) Retain(ctx context.Context, keep func(uid string) bool) error {
	var gone []string
	for cursor := "0"; ; {
		a, err := s.run(ctx, call{script: s.scripts.list, args: []any{s.time(), cursor}})
		if err != nil {
			return err
		}
		if !a.is("list") || len(a) != 3 {
			return s.unknown(a)
		}
		members, _ := a[2].([]any)
		for i := range members {
			if uid := memberUID(answer(members).text(i)); !keep(uid) {
				gone = append(gone, uid)
			}
		}
		if cursor = a.text(1); cursor == "0" {
			break
		}
	}
	var errs []error
	for _, uid := range gone {
		errs = append(errs, s.Remove(ctx, uid))
	}
	return errors.Join(errs...)
}

func (t *teller) set(p lease.Proxy) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.proxies[p.UID] = p
	delete(t.removed, p.UID)
}

func (t *teller) remove(uid string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.proxies, uid)
	if len(t.removed) >= maxRemoved {
		clear(t.removed)
	}
	t.removed[uid] = true
}

// note takes what the server said: the highest counts, whoever is first to say so.
func (t *teller) note(term, told int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.term, t.told = max(t.term, term), max(t.told, told)
}

// seen is what the server is known to have been told.
func (t *teller) seen() (term, told int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.term, t.told
}

// lacks says whether the server, which was seen to have been told so much and now says who
// told how much, lost some of what this process told it. If another process tells by now,
// this one forgets what it told.
func (t *teller) lacks(seenTerm, seenTold int64, id string, term, told int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case len(t.proxies)+len(t.removed) == 0:
	case term > seenTerm && seenTerm > 0 && id != t.id:
		t.term, t.told, t.behind = 0, 0, false
		clear(t.proxies)
		clear(t.removed)
	case seenTerm > 0 && (id != t.id || told < seenTold):
		t.told, t.behind = 0, true // from here, it is the server's count
	}
	return t.behind
}

// fail and recover note whether the server was told all.
func (t *teller) fail() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.behind = true
}

func (t *teller) recover() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.behind = false
}

// uids are of the proxies that were told or removed.
func (t *teller) uids() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.AppendSeq(slices.Collect(maps.Keys(t.proxies)), maps.Keys(t.removed))
}

// last is what was told of a proxy last, if anything: what it is, or that it is not.
func (t *teller) last(uid string) (p lease.Proxy, is, was bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, is = t.proxies[uid]
	return p, is, t.removed[uid]
}
