package bench

import (
	"fmt"
	"slices"
	"sync"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// intent is what a request should meet: a backend and the mark of its filter.
type intent struct{ backend, mark string }

// intents are what each request of a host may meet now: two while an edit is on
// its way, one otherwise.
type intents struct {
	mu    sync.Mutex
	valid map[string][]intent
}

func newIntents() *intents { return &intents{valid: map[string][]intent{}} }

// set is before the first request: only this is right.
func (x *intents) set(key string, want intent) { x.replace(key, want) }

// begin allows the new intent beside the old.
func (x *intents) begin(key string, next intent) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.valid[key] = append(slices.Clip(x.valid[key]), next)
}

// replace allows the new intent only.
func (x *intents) replace(key string, now intent) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.valid[key] = []intent{now}
}

// now returns what is allowed at this moment.
func (x *intents) now(key string) []intent {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.valid[key]
}

// judge says what is wrong with an answer: it must meet an intent that was valid
// when the request left or when the answer arrived.
func judge(got rig.Response, err error, atStart, atEnd []intent) error {
	if err != nil {
		return fmt.Errorf("failed: %w", err)
	}
	if got.Status != 200 {
		return fmt.Errorf("failed: status %d: %s", got.Status, got.Body)
	}
	if len(got.Answer.Marks) != 1 {
		return fmt.Errorf("misrouted: marks %v", got.Answer.Marks)
	}
	met := intent{got.Answer.Backend, got.Answer.Marks[0]}
	if slices.Contains(atStart, met) || slices.Contains(atEnd, met) {
		return nil
	}
	return fmt.Errorf("misrouted: met %v, want one of %v or %v", met, atStart, atEnd)
}
