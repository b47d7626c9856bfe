package pipeline

import (
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/failmode"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// expires is when the retained revision of a rejected object may serve no longer;
// zero is never.
func (b *board) expires(key store.Key) time.Time {
	since, rejected := b.rejectedSince(key)
	lifetime := failmode.Lifetime(key)
	if !rejected || lifetime == 0 {
		return time.Time{}
	}
	return since.Add(lifetime)
}

// expired are the objects whose retained revisions have served for as long as they may.
func (l *Loop) expired(now time.Time) map[store.Key]bool {
	out := map[store.Key]bool{}
	for key, r := range l.rejected {
		if at := l.board.expires(key); r.Retained && !at.IsZero() && !now.Before(at) {
			out[key] = true
		}
	}
	return out
}

// awaitExpiry notes when the next retained revision expires. One that could not be
// closed at its time is tried again soon.
func (l *Loop) awaitExpiry(now time.Time) {
	l.expiry = time.Time{}
	for key, r := range l.rejected {
		at := l.board.expires(key)
		if !r.Retained || at.IsZero() {
			continue
		}
		if !now.Before(at) {
			at = now.Add(firstPatience)
		}
		if l.expiry.IsZero() || at.Before(l.expiry) {
			l.expiry = at
		}
	}
}

// expire asks for a round when a retained revision expires.
func (l *Loop) expire(now time.Time) {
	if !l.expiry.IsZero() && !now.Before(l.expiry) {
		l.expiry = time.Time{}
		l.window.AddWithin(now, 0)
	}
}
