package lease

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Surveyor is a Store that can tell the use of all proxies at once, for lists of them and
// for metrics.
type Surveyor interface {
	// Uses returns how each proxy is used, by UID; those that are not are absent.
	Uses(ctx context.Context) (map[string]Use, error)
}

// Survey returns how each proxy is used, by UID. It knows of cooldowns if s is a Surveyor, also
// as the store of a [Waiting]; whole says so.
func Survey(ctx context.Context, s Store) (uses map[string]Use, whole bool, err error) {
	if w, waits := s.(*Waiting); waits {
		s = w.Store
	}
	if surveyor, whole := s.(Surveyor); whole {
		uses, err = surveyor.Uses(ctx)
		return uses, true, err
	}
	counts, err := s.Counts(ctx)
	uses = make(map[string]Use, len(counts))
	for uid, n := range counts {
		uses[uid] = Use{Active: n}
	}
	return uses, false, err
}

// Uses implements Surveyor.
func (s *Memory) Uses(context.Context) (map[string]Use, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.expire()
	uses := map[string]Use{}
	for uid, m := range s.members {
		if u := m.use(now); u.Active > 0 || len(u.Cooldowns) > 0 {
			uses[uid] = u
		}
	}
	return uses, nil
}

// use is how it is used now, cooldowns in order of target.
func (m *member) use(now time.Time) Use {
	u := Use{Active: m.active}
	for target, c := range m.rests {
		if now.Before(c.until) {
			u.Cooldowns = append(u.Cooldowns, Cooldown{Target: target, Until: c.until})
		}
	}
	slices.SortFunc(u.Cooldowns, func(a, b Cooldown) int { return strings.Compare(a.Target, b.Target) })
	return u
}
