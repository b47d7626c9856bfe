package arena

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// Options are what an arena is made from.
type Options struct {
	// Backend is the command, with its arguments, that calls [ServeBackend] with its
	// standard input and output, and ends its context at SIGTERM.
	Backend []string
	// Delay is how long a backend takes to answer.
	Delay time.Duration
	// Now returns the moment of the run, also before it begins and after it has ended.
	Now func() lab.Moment
	// Died hears of a backend that ended by itself, once for each, from a goroutine of
	// the arena.
	Died func(error)
}

// Arena runs the backends of a leg. Its methods may be called from any goroutine.
type Arena struct {
	options Options
	tasks   sync.WaitGroup // one for each process

	mu       sync.Mutex
	closed   bool
	standby  []*process
	backends map[string]*backend     // that were started and not ended, by name
	last     map[netip.Addr]*backend // who had an address last
	all      []*backend              // that ever listened, in that order
}

// backend is a process that was told who it is.
type backend struct {
	order
	*process
	span lab.Span // when it served
	end  lab.End  // how it was told to end; empty before that
	over bool     // it does not serve, not yet or no more
}

// startTime is how long a backend may take to listen.
const startTime = 10 * time.Second

// New makes an arena in the namespaces that [Enter] prepared.
func New(o Options) (*Arena, error) {
	return &Arena{options: o, backends: make(map[string]*backend), last: make(map[netip.Addr]*backend)}, nil
}

// Prepare starts processes that wait to become backends, so that a start in the middle
// of a run takes a millisecond and no CPU time from what is measured.
func (a *Arena) Prepare(count int) error {
	for range count {
		p, err := spawn(a.options.Backend)
		if err != nil {
			return err
		}
		a.mu.Lock()
		a.standby = append(a.standby, p)
		a.mu.Unlock()
	}
	return nil
}

// StartBackend starts a backend and returns when it listens. Neither its name nor its
// address may be that of a backend that was not ended.
func (a *Arena) StartBackend(ctx context.Context, name string, address netip.Addr) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	b, err := a.reserve(order{Name: name, Address: address, Delay: a.options.Delay})
	if err != nil {
		return err
	}
	if err := a.begin(ctx, b); err != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.backends, name)
		return err
	}
	a.tasks.Go(func() { a.watch(b) })
	return nil
}

// reserve takes the name and the address, and finds a process.
func (a *Arena) reserve(o order) (*backend, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch other := a.last[o.Address]; {
	case a.closed:
		return nil, errors.New("the arena is closed")
	case !Net.Contains(o.Address) || o.Address == Source:
		return nil, fmt.Errorf("backend %s: address %s must be in %s and not be %s", o.Name, o.Address, Net, Source)
	case a.backends[o.Name] != nil:
		return nil, fmt.Errorf("backend %s runs already", o.Name)
	case other != nil && a.backends[other.Name] == other:
		return nil, fmt.Errorf("backend %s: address %s is that of backend %s", o.Name, o.Address, other.Name)
	}
	b := &backend{order: o, over: true}
	if last := len(a.standby) - 1; last >= 0 {
		b.process, a.standby = a.standby[last], a.standby[:last]
	} else {
		var err error
		if b.process, err = spawn(a.options.Backend); err != nil {
			return nil, err
		}
	}
	a.backends[o.Name] = b
	return b, nil
}

// begin makes b listen. Whoever had its address and is not told to finish its
// requests must be gone before the address is back.
func (a *Arena) begin(ctx context.Context, b *backend) error {
	a.mu.Lock()
	before := a.last[b.Address]
	a.last[b.Address] = b
	killed := before != nil && before.end != lab.Stop
	a.mu.Unlock()
	if killed {
		<-before.ended
	}
	if err := appear(b.Address); err != nil {
		b.kill()
		<-b.ended
		return err
	}
	if err := b.process.begin(ctx, b.order); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	b.span.From, b.over = a.options.Now(), false
	a.all = append(a.all, b)
	return nil
}

// watch notes the end of a backend.
func (a *Arena) watch(b *backend) {
	<-b.ended
	a.mu.Lock()
	a.finish(b)
	itself := b.end == ""
	if itself {
		b.end = lab.Kill
		delete(a.backends, b.Name)
	}
	a.mu.Unlock()
	if itself {
		a.options.Died(fmt.Errorf("backend %s at %s ended by itself: %w%s", b.Name, b.Address, b.err, b.said))
	}
}

// finish ends the span of b now, if it did not end before.
func (a *Arena) finish(b *backend) {
	if !b.over {
		b.over, b.span.To = true, a.options.Now()
	}
}

// EndBackend ends a backend and does not wait for it. A stopped one serves until it
// has finished its requests, but refuses connections soon.
func (a *Arena) EndBackend(name string, end lab.End) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	b := a.backends[name]
	if b == nil {
		return fmt.Errorf("backend %s does not run", name)
	}
	delete(a.backends, name)
	b.end = end
	switch end {
	case lab.Stop:
		b.stop()
		return nil
	case lab.Vanish:
		a.finish(b)
		err := vanish(b.Address)
		b.kill() // unheard, as nothing leaves from an address that is not here
		return err
	case lab.Kill:
		a.finish(b)
		b.kill()
		return nil
	}
	return fmt.Errorf("backend %s: unknown end %q", name, end)
}

// Serving returns when each backend served, in order: from when it listened until it
// exited, was killed or vanished; those that still do, until now.
func (a *Arena) Serving() []lab.BackendSpan {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.options.Now()
	spans := make([]lab.BackendSpan, len(a.all))
	for i, b := range a.all {
		spans[i] = lab.BackendSpan{Backend: b.Name, Span: b.span}
		if !b.over {
			spans[i].To = now
		}
	}
	return spans
}

// Attempts returns the tries to reach a backend in vain up to now, in order. An error
// means that packets were missed, so that the count is too low.
func (a *Arena) Attempts() ([]lab.Attempt, error) { return nil, errors.New("not counted yet") }

// Close kills every backend and waits for it.
func (a *Arena) Close() error {
	a.mu.Lock()
	a.closed = true
	waiting := a.standby
	a.standby = nil
	for _, b := range a.all {
		if b.end == "" {
			b.end = lab.Kill
			a.finish(b)
		}
		b.kill()
	}
	var failed error
	for address := range a.last {
		if err := vanish(address); err != nil && !errors.Is(err, unix.ESRCH) {
			failed = errors.Join(failed, err)
		}
	}
	a.mu.Unlock()
	for _, p := range waiting {
		p.kill()
		<-p.ended
	}
	a.tasks.Wait()
	return failed
}
