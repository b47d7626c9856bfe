package redis

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// Acquire implements lease.Store. A call whose answer is lost is made again, and then
// finds the lease that it was granted. If no answer comes at all, the lease is ended as
// soon as the server answers, unless the caller can find it by its key.
func (s *Store) Acquire(ctx context.Context, r lease.Request) (lease.Lease, error) {
	sel, session := selector(r.Selector), ""
	if splits(r.Selector.Attributes, r.Selector.Namespace) {
		return lease.Lease{}, &lease.NoMatchError{}
	}
	if r.Session != "" {
		session = r.Session + "\x00\x00" + sel
	}
	id := lease.NewID()
	c := call{script: s.scripts.acquire, again: 2, confirm: true, args: []any{
		s.time(), id, "", r.TTL.Microseconds(), r.Target, sel, s.touched.due(sel, time.Now()), session, r.Key, digest(r), "",
	}}
	for _, name := range r.Exclude {
		namespace, name, _ := strings.Cut(name, "/")
		c.args = append(c.args, namespace+"\x00"+name+"\x00")
	}
	a, err := s.run(ctx, c)
	if err != nil {
		if _, perhaps := errors.AsType[*perhapsError](err); perhaps && r.Key == "" {
			s.given.abandon(id)
		}
		return lease.Lease{}, err
	}
	switch {
	case a.is("none"):
		return lease.Lease{}, &lease.NoMatchError{
			Considered: int(a.number(1)), Unhealthy: int(a.number(2)), AtCapacity: int(a.number(3)), InCooldown: int(a.number(4)),
			RetryAfter: time.Duration(a.number(5)) * time.Microsecond,
		}
	case a.is("reused"):
		return lease.Lease{}, lease.ErrReused
	}
	return s.granted(a)
}

// granted is the lease that an answer has.
func (s *Store) granted(a answer) (lease.Lease, error) {
	if !a.is("granted") || len(a) != 8 {
		return lease.Lease{}, s.unknown(a)
	}
	p, err := s.docs.of(a.text(2))
	if err != nil {
		return lease.Lease{}, s.unavailable(errors.Join(errNonsense, err))
	}
	return lease.Lease{
		ID: a.text(1), Proxy: p, ExpiresAt: time.UnixMicro(a.number(3)).UTC(), TTL: time.Duration(a.number(4)) * time.Microsecond,
		Fence: uint64(a.number(5)), Rebound: a.number(6) == 1, Target: a.text(7),
	}, nil
}

// Kept implements lease.Keeper.
func (s *Store) Kept(ctx context.Context, r lease.Request) (got lease.Lease, found bool, err error) {
	if r.Key == "" {
		return got, false, nil
	}
	a, err := s.run(ctx, call{script: s.scripts.kept, args: []any{s.time(), r.Key, digest(r)}})
	switch {
	case err != nil:
		return got, false, err
	case a.is("none"):
		return got, false, nil
	case a.is("reused"):
		return got, true, lease.ErrReused
	}
	got, err = s.granted(a)
	return got, err == nil, err
}

// Renew implements lease.Store.
func (s *Store) Renew(ctx context.Context, id string, ttl time.Duration) (lease.Lease, error) {
	a, err := s.run(ctx, call{script: s.scripts.renew, args: []any{s.time(), id, ttl.Microseconds()}, confirm: true})
	switch {
	case err != nil:
		return lease.Lease{}, err
	case a.is("unknown"):
		return lease.Lease{}, lease.ErrUnknown
	case a.is("gone"):
		return lease.Lease{}, lease.ErrProxyGone
	case !a.is("granted") || len(a) != 9:
		return lease.Lease{}, s.unknown(a)
	}
	l, err := s.granted(a[:8])
	if until := a.number(8); err == nil && until > 0 {
		l.CoolingUntil = time.UnixMicro(until).UTC()
	}
	return l, err
}

// Release implements lease.Store. A server that fails may forget it, and is told
// again; so is one that does not answer, though the caller hears of it.
func (s *Store) Release(ctx context.Context, id string) error {
	s.given.release(id)
	err := s.end(ctx, id)
	if err != nil {
		s.given.abandon(id)
	}
	return err
}

// Report implements lease.Store.
func (s *Store) Report(ctx context.Context, id string, result lease.Result, target string) error {
	bad := ""
	if result != lease.OK {
		bad = "1"
	}
	return s.expect(ctx, call{script: s.scripts.report, args: []any{s.time(), id, bad, target}}, "reported")
}

// expect makes a call that has one good answer.
func (s *Store) expect(ctx context.Context, c call, good string) error {
	a, err := s.run(ctx, c)
	switch {
	case err != nil:
		return err
	case a.is("unknown"):
		return lease.ErrUnknown
	case !a.is(good):
		return s.unknown(a)
	}
	return nil
}
