package arena

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// backend is a process that was told who it is.
type backend struct {
	order
	*process
	since  lab.Moment // owner of its address, until the next one
	span   lab.Span   // when it served
	end    lab.End    // how it was told to end; empty before that
	before *backend   // the last owner of its address
	over   bool       // it does not serve, not yet or no more
}

// startTime is how long a backend may take to listen.
const startTime = 10 * time.Second

// Prepare starts processes that wait to become backends, so that a start in the middle
// of a run takes a millisecond and no CPU time from what is measured. It returns when
// they wait.
func (a *Arena) Prepare(ctx context.Context, count int) error {
	ctx, cancel := context.WithTimeout(ctx, startTime+time.Duration(count)*time.Second)
	defer cancel()
	for range count {
		p, err := spawn(ctx, a.options.Backend)
		if err != nil {
			return err
		}
		if err := p.expect(ctx, waiting); err != nil {
			p.destroy()
			return fmt.Errorf("prepare a backend: %w%s", err, p.said)
		}
		p.waits = true
		if err := a.keep(p); err != nil {
			return err
		}
	}
	return nil
}

func (a *Arena) keep(p *process) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		p.destroy()
		return errClosed
	}
	a.standby = append(a.standby, p)
	return nil
}

// StartBackend starts a backend and returns when it listens. Neither its name nor its
// address may be that of a backend that was not ended.
func (a *Arena) StartBackend(ctx context.Context, name string, address netip.Addr) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	b, err := a.reserve(ctx, order{Name: name, Address: address, Delay: a.options.Delay})
	if err != nil {
		return err
	}
	if err = a.begin(ctx, b); err == nil {
		err = a.began(b)
	}
	if err != nil {
		b.destroy()
		a.mu.Lock()
		defer a.mu.Unlock()
		b.end = lab.Kill
		if a.backends[name] == b {
			delete(a.backends, name)
		}
	}
	return err
}

// reserve takes the name and the address, and finds a process.
func (a *Arena) reserve(ctx context.Context, o order) (*backend, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	other := a.owner(o.Address)
	switch {
	case a.closed:
		return nil, errClosed
	case !Net.Contains(o.Address) || o.Address == Source:
		return nil, fmt.Errorf("backend %s: address %s must be in %s and not be %s", o.Name, o.Address, Net, Source)
	case a.backends[o.Name] != nil:
		return nil, fmt.Errorf("backend %s runs already", o.Name)
	case other != nil && a.backends[other.Name] == other:
		return nil, fmt.Errorf("backend %s: address %s is that of backend %s", o.Name, o.Address, other.Name)
	}
	b := &backend{order: o, over: true, before: other, since: a.options.Now()}
	if last := len(a.standby) - 1; last >= 0 {
		b.process, a.standby = a.standby[last], a.standby[:last]
	} else {
		var err error
		if b.process, err = spawn(ctx, a.options.Backend); err != nil {
			return nil, err
		}
	}
	a.backends[o.Name] = b
	a.owners[o.Address] = append(a.owners[o.Address], b)
	return b, nil
}

// owner returns who has an address or had it last, or nil.
func (a *Arena) owner(address netip.Addr) *backend {
	if all := a.owners[address]; len(all) > 0 {
		return all[len(all)-1]
	}
	return nil
}

// begin makes b listen. Whoever had its address and was killed must be gone before the
// address is back; one that finishes its requests may do so beside it.
func (a *Arena) begin(ctx context.Context, b *backend) error {
	a.mu.Lock()
	killed := b.before != nil && b.before.end != lab.Stop
	a.mu.Unlock()
	if killed {
		select {
		case <-b.before.ended:
		case <-ctx.Done():
			return fmt.Errorf("backend %s: backend %s, which had its address %s before, does not end: %w", b.Name, b.before.Name, b.Address, context.Cause(ctx))
		}
	}
	if err := appear(b.Address); err != nil {
		return err
	}
	return b.process.begin(ctx, b.order)
}

// began notes that b serves.
func (a *Arena) began(b *backend) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return errClosed
	case b.end != "":
		return fmt.Errorf("backend %s was ended before it listened", b.Name)
	}
	b.span.From, b.over = a.options.Now(), false
	a.all = append(a.all, b)
	a.tasks.Go(func() { a.watch(b) })
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
