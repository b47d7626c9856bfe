package checkpoint_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease/checkpoint"
)

func sealed(body []byte) []byte {
	sum := sha256.Sum256(body)
	return append([]byte("gatehouse-leases 1 "+hex.EncodeToString(sum[:])+"\n"), body...)
}

// shelf is a Sink in memory.
type shelf struct {
	mu      sync.Mutex
	content []byte
	stored  []time.Time
	err     error
}

func (s *shelf) Load(context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.content, s.err
}

func (s *shelf) Store(_ context.Context, content []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.content, s.stored = content, append(s.stored, time.Now())
	}
	return s.err
}

func (*shelf) Aside(context.Context, []byte) (string, error) { return "aside", nil }
func (*shelf) Most() int                                     { return 1 << 20 }
func (*shelf) String() string                                { return "shelf" }

func (s *shelf) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *shelf) writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.stored)
}

// running is a checkpoint that runs in a bubble.
type running struct {
	*testing.T
	store *lease.Memory
	sink  *shelf
	log   *strings.Builder
	end   func()
}

func run(t *testing.T, test func(r running)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := running{T: t, store: busy(t), sink: &shelf{}, log: &strings.Builder{}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			checkpoint.Run(ctx, checkpoint.Options{Source: r.store, Sink: r.sink, Log: slog.New(slog.NewTextHandler(r.log, nil))})
		}()
		r.end = func() { cancel(); <-done }
		defer r.end()
		test(r)
	})
}

func (r running) lease() lease.Lease {
	r.Helper()
	l, err := r.store.Acquire(r.Context(), lease.Request{TTL: time.Minute})
	if err != nil {
		r.Fatal(err)
	}
	return l
}

// TestWritesWhatIsNew: once a second at most, and nothing while nothing changes, though
// leases end by time.
func TestWritesWhatIsNew(t *testing.T) {
	run(t, func(r running) {
		time.Sleep(10 * time.Second)
		if n := r.sink.writes(); n != 1 {
			r.Errorf("%d writes of what did not change, must be 1", n)
		}
		for range 100 {
			r.lease()
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Hour)
		if n := r.sink.writes(); n < 10 || n > 12 {
			r.Errorf("%d writes in ten seconds, must be 10", n-1)
		}
	})
}

// TestLastWrite: what is leased until the end is written, also if a write failed a moment
// ago.
func TestLastWrite(t *testing.T) {
	run(t, func(r running) {
		time.Sleep(2 * time.Second)
		r.sink.fail(errors.New("full"))
		last := r.lease()
		time.Sleep(3 * time.Second)
		r.sink.fail(nil)
		r.end()
		next := lease.NewMemory(lease.Options{})
		read(r, next, r.sink)
		if _, err := next.Renew(r.Context(), last.ID, time.Minute); err != nil {
			r.Errorf("the last lease: %v", err)
		}
	})
}

// TestSinkFails: it is tried again, said once, and said when it is over.
func TestSinkFails(t *testing.T) {
	run(t, func(r running) {
		r.sink.fail(errors.New("no space left"))
		time.Sleep(time.Minute)
		r.sink.fail(nil)
		time.Sleep(20 * time.Second)
		if n := r.sink.writes(); n != 1 {
			r.Errorf("%d writes, must be 1", n)
		}
		r.end()
		if log := r.log.String(); strings.Count(log, "level=ERROR") != 1 || strings.Count(log, "written down again") != 1 {
			r.Errorf("logged:\n%s", log)
		}
	})
}

// TestNotLeading: who lost the lead writes nothing, and nothing is wrong with that.
func TestNotLeading(t *testing.T) {
	run(t, func(r running) {
		r.sink.fail(checkpoint.ErrNotLeading)
		time.Sleep(time.Minute)
		r.end()
		if r.sink.writes() != 0 || r.log.String() != "" {
			r.Errorf("%d writes, logged:\n%s", r.sink.writes(), r.log)
		}
	})
}

// TestSinkAnswersLate: a Sink that does not answer at first is asked again.
func TestSinkAnswersLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &shelf{}
		write(t, busy(t), sink)
		sink.fail(errors.New("connection refused"))
		time.AfterFunc(5*time.Second, func() { sink.fail(nil) })
		store := lease.NewMemory(lease.Options{})
		read(t, store, sink)
		if n := len(store.State().Leases); n != 3 {
			t.Errorf("%d leases, must be 3", n)
		}
	})
}
