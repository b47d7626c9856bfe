package redis

import (
	"context"
	"errors"
	"time"
)

// watchEvery is how often the server is looked at.
const watchEvery = time.Second

// watch sees what a server lost, and has it told again.
func (s *Store) watch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	known := true // whether the server answered last time
	for {
		err := s.look(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && known:
			s.Log.Error("the store of leases does not answer; nobody is granted a lease until it does", "error", err)
		case err == nil && !known:
			s.Log.Info("the store of leases answers again", "address", s.where())
		}
		known = err == nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look compares what the server knows with what it was told, and ends leases whose
// grants nobody heard of.
func (s *Store) look(ctx context.Context) error {
	term, told := s.teller.seen()
	a, err := s.run(ctx, call{script: s.scripts.told, args: []any{s.time()}})
	if err != nil {
		return err
	}
	if !a.is("told") {
		return s.unknown(a)
	}
	if err := s.endAgain(ctx); err != nil {
		return err
	}
	if !s.teller.lacks(term, told, a.text(1), a.number(2), a.number(3)) {
		return nil
	}
	return s.tellAgain(ctx)
}

func (s *Store) tellAgain(ctx context.Context) error {
	uids := s.teller.uids()
	s.Log.Warn("the store of leases does not know all that it was told; telling it again", "address", s.where(), "proxies", len(uids))
	s.teller.recover() // unless one of these fails
	var errs []error
	for _, uid := range uids {
		errs = append(errs, s.tellLast(ctx, uid))
	}
	return errors.Join(errs...)
}

func (s *Store) tellLast(ctx context.Context, uid string) error {
	s.teller.telling.Lock()
	defer s.teller.telling.Unlock()
	switch p, is, was := s.teller.last(uid); {
	case is:
		return s.set(ctx, p)
	case was:
		return s.remove(ctx, uid)
	}
	return nil
}
