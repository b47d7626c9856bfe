package pipeline

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// tellUnavailable notes whether a validator gives verdicts; "" is that it does. It is
// told once each time that this changes. It is safe for concurrent use.
func (l *Loop) tellUnavailable(validator, why string) {
	before := l.board.setUnavailable(validator, why)
	switch {
	case (before == "") == (why == ""):
	case why == "":
		l.Log.Info("validator is available again", observe.KeyValidator, validator)
	default:
		l.Log.Warn("validator is unavailable", observe.KeyValidator, validator, observe.KeyError, why)
	}
}

// setUnavailable returns what was known before.
func (b *board) setUnavailable(validator, why string) (before string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before = b.unavailable[validator]
	if why == "" {
		delete(b.unavailable, validator)
	} else {
		b.unavailable[validator] = why
	}
	return before
}

// unavailability names a validator that gives no verdict now, ready to follow a
// sentence; it is empty when all do.
func (b *board) unavailability() string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, name := range slices.Sorted(maps.Keys(b.unavailable)) {
		return fmt.Sprintf(": the validator %q is unavailable: %s", name, b.unavailable[name])
	}
	return ""
}

// whyUnavailable is why a validator gives no verdict now; empty when it does.
func (b *board) whyUnavailable(validator string) string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.unavailable[validator]
}
