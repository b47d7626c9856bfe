package redis

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

var _ lease.Surveyor = (*Store)(nil)

// Use implements lease.Store.
func (s *Store) Use(ctx context.Context, uid string) (lease.Use, error) {
	uses := map[string]lease.Use{}
	_, err := s.uses(ctx, uses, "1", "0", uid)
	return uses[uid], err
}

// Uses implements lease.Surveyor. It is asked for in parts, between which others are
// served: it is not of one moment.
func (s *Store) Uses(ctx context.Context) (map[string]lease.Use, error) {
	return s.all(ctx, "1")
}

// Counts implements lease.Store, in parts as Uses is.
func (s *Store) Counts(ctx context.Context) (map[string]int, error) {
	uses, err := s.all(ctx, "")
	counts := make(map[string]int, len(uses))
	for uid, u := range uses {
		counts[uid] = u.Active
	}
	return counts, err
}

func (s *Store) all(ctx context.Context, cooldowns string) (uses map[string]lease.Use, err error) {
	uses = map[string]lease.Use{}
	cursor := "0"
	for {
		if cursor, err = s.uses(ctx, uses, cooldowns, cursor); err != nil {
			return nil, err
		}
		if cursor == "0" {
			return uses, nil
		}
	}
}

// uses adds a part of the proxies that are used, and returns the cursor to the next.
func (s *Store) uses(ctx context.Context, uses map[string]lease.Use, args ...any) (cursor string, err error) {
	a, err := s.run(ctx, call{script: s.scripts.uses, args: append([]any{s.time()}, args...)})
	if err != nil {
		return "", err
	}
	if !a.is("uses") {
		return "", s.unknown(a)
	}
	for i := 2; i+2 < len(a); i += 3 {
		uid, u := a.text(i), lease.Use{Active: int(a.number(i + 1))}
		for n := a.number(i + 2); n > 0; n-- {
			u.Cooldowns = append(u.Cooldowns, lease.Cooldown{Target: a.text(i + 3), Until: time.UnixMicro(a.number(i + 4)).UTC()})
			i += 2
		}
		slices.SortFunc(u.Cooldowns, func(a, b lease.Cooldown) int { return cmp.Compare(a.Target, b.Target) })
		if u.Active > 0 || len(u.Cooldowns) > 0 {
			uses[uid] = u
		}
	}
	return a.text(1), nil
}
