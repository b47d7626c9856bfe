package pipeline

import (
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

// unavailableValidators are those that give no verdict now, in order, each with why.
func (b *board) unavailableValidators() (names []string, why map[string]string) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	why = maps.Clone(b.unavailable)
	return slices.Sorted(maps.Keys(why)), why
}
