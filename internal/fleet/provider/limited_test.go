package provider_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// tally counts the calls that reach it.
type tally struct {
	provider.Provider
	mu    sync.Mutex
	at    []time.Time // of each call
	ops   []provider.Op
	reads map[string]int // by ID
}

func (c *tally) note(op provider.Op, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.ops = append(c.at, time.Now()), append(c.ops, op)
	if op == provider.OpGet {
		c.reads[id]++
	}
}

func (c *tally) Create(_ context.Context, r provider.CreateRequest) (provider.Instance, error) {
	c.note(provider.OpCreate, r.Name)
	return provider.Instance{ID: r.Name}, nil
}

func (c *tally) Delete(_ context.Context, id string) error {
	c.note(provider.OpDelete, id)
	return nil
}

func (c *tally) Get(_ context.Context, id string) (provider.Instance, error) {
	c.note(provider.OpGet, id)
	return provider.Instance{ID: id}, nil
}

func (c *tally) Find(_ context.Context, _, uid string) ([]provider.Instance, error) {
	c.note(provider.OpFind, uid)
	return nil, nil
}

func (c *tally) ListByTag(_ context.Context, cluster string) ([]provider.Instance, error) {
	c.note(provider.OpList, cluster)
	return nil, nil
}

// busiest is the most calls within a second.
func (c *tally) busiest() int {
	most, from := 0, 0
	for i, at := range c.at {
		for at.Sub(c.at[from]) >= time.Second {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}

const (
	crowd     = 1000
	perSecond = 20.0
)

// TestLostInstancesAreFound: a step that has looked at an instance which is gone searches
// for it, and begins with the look again when it is refused. However many do so at once,
// each comes to its search.
func TestLostInstancesAreFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := &tally{reads: map[string]int{}}
		p := provider.Limited(calls, perSecond)
		const lost = 10
		var found atomic.Int32
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		step := func(id string) error {
			if _, err := p.Get(ctx, id); err != nil {
				return err
			}
			_, err := p.Find(ctx, "c", id)
			return err
		}
		var all sync.WaitGroup
		for i := range lost {
			all.Go(func() {
				for ctx.Err() == nil {
					err := step(fmt.Sprint(i))
					if err == nil {
						found.Add(1)
						return
					}
					after := time.Second
					if throttled, ok := errors.AsType[*provider.ThrottledError](err); ok {
						after = throttled.After
					}
					time.Sleep(after)
				}
			})
		}
		all.Wait()
		if found.Load() != lost {
			t.Errorf("%d of %d were found within a minute, after %d calls", found.Load(), lost, len(calls.ops))
		}
		if most := lost + lost*2; len(calls.ops) > most {
			t.Errorf("%d calls for %d steps of two", len(calls.ops), lost)
		}
	})
}

// TestCrowd: a thousand are created at once and looked at every five seconds by three
// workers. All creates go first, and then every one is looked at as often as any other.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := &tally{reads: make(map[string]int)}
		p := provider.Limited(calls, perSecond)
		const lasts = 10 * time.Minute
		ctx, cancel := context.WithTimeout(t.Context(), lasts)
		defer cancel()
		workers := make(chan struct{}, 3)
		var all sync.WaitGroup
		var refused atomic.Int64
		for i := range crowd {
			all.Go(func() {
				id := fmt.Sprint(i)
				during(ctx, workers, func() { _, _ = p.Create(ctx, provider.CreateRequest{Name: id}) })
				for after := 5 * time.Second; sleep(ctx, after); {
					during(ctx, workers, func() { after = poll(ctx, p, id, &refused) })
				}
			})
		}
		all.Wait()
		if most, want := calls.busiest(), int(perSecond*1.25); most > want {
			t.Errorf("%d calls in a second, want at most %d", most, want)
		}
		made := slices.Index(calls.ops[crowd/2:], provider.OpGet) + crowd/2
		if took := calls.at[made].Sub(calls.at[0]); took > time.Minute {
			t.Errorf("creates took %v", took)
		}
		least, most := spread(calls.reads)
		if least == 0 || most-least > 2 {
			t.Errorf("looked at %d to %d times, want all alike", least, most)
		}
		if used := float64(len(calls.at)) / (perSecond * lasts.Seconds()); used < 0.9 {
			t.Errorf("%.0f%% of what is allowed was used", used*100)
		}
		t.Logf("%d calls, each looked at %d to %d times, refused %d times", len(calls.at), least, most, refused.Load())
		if reads := len(calls.at) - crowd; refused.Load() > int64(3*reads) {
			t.Errorf("refused %d times for %d reads", refused.Load(), reads)
		}
	})
}

// poll looks once and returns when to look again.
func poll(ctx context.Context, p provider.Provider, id string, refused *atomic.Int64) time.Duration {
	_, err := p.Get(ctx, id)
	if throttled, ok := errors.AsType[*provider.ThrottledError](err); ok {
		refused.Add(1)
		return throttled.After
	}
	return 5 * time.Second
}

func during(ctx context.Context, workers chan struct{}, do func()) {
	select {
	case workers <- struct{}{}:
		do()
		<-workers
	case <-ctx.Done():
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func spread(counts map[string]int) (least, most int) {
	for i := range crowd {
		n := counts[fmt.Sprint(i)]
		if i == 0 || n < least {
			least = n
		}
		most = max(most, n)
	}
	return least, most
}

// TestWritesGoFirst: reads that were there before wait until no write does.
func TestWritesGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := &tally{reads: make(map[string]int)}
		p := provider.Limited(calls, 4) // one at once
		if _, err := p.Get(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		after := poll(t.Context(), p, "b", new(atomic.Int64))
		var writes sync.WaitGroup
		for range 8 {
			writes.Go(func() { _ = p.Delete(t.Context(), "c") })
		}
		synctest.Wait()
		for refused := int64(1); refused > 0; {
			var times atomic.Int64
			time.Sleep(after)
			after = poll(t.Context(), p, "b", &times)
			refused = times.Load()
		}
		writes.Wait()
		if calls.ops[9] != provider.OpGet || slices.Contains(calls.ops[1:9], provider.OpGet) {
			t.Errorf("calls were made in the order %q, want the read last", calls.ops)
		}
	})
}

// TestNobodyWaitsForWhoIsGone: a read that never comes back holds up nobody.
func TestNobodyWaitsForWhoIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := provider.Limited(&tally{reads: make(map[string]int)}, 1)
		_, _ = p.Get(t.Context(), "first")
		for i := range 50 {
			poll(t.Context(), p, fmt.Sprint(i), new(atomic.Int64))
		}
		time.Sleep(time.Minute)
		if _, err := p.Get(t.Context(), "another"); err != nil {
			t.Errorf("a minute later: %v", err)
		}
	})
}

// TestWaitIsBounded: no write waits longer than it may, and one that gave up costs nothing.
func TestWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := &tally{reads: make(map[string]int)}
		p := provider.Limited(calls, 1)
		_ = p.Delete(t.Context(), "a")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		began := time.Now()
		err := p.Delete(ctx, "b")
		if throttled, ok := errors.AsType[*provider.ThrottledError](err); !ok || throttled.After != time.Second || time.Since(began) != 0 {
			t.Errorf("a delete that cannot be in time: %v after %v, want to hear at once: in 1s", err, time.Since(began))
		}
		canceled, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second/4, cancel)
		if err := p.Delete(canceled, "c"); !errors.Is(err, context.Canceled) {
			t.Errorf("a delete whose caller goes away: %v", err)
		}
		if _, err := p.ListByTag(t.Context(), "ours"); err != nil || time.Since(began) != time.Second {
			t.Errorf("a list came %v after the last call, %v; want 1s", time.Since(began), err)
		}
	})
}
