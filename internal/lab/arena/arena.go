package arena

import (
	"errors"
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
	tap     *tap
	tasks   sync.WaitGroup // one for each backend that listens

	mu       sync.Mutex
	closed   bool
	standby  []*process
	backends map[string]*backend       // that were started and not ended, by name
	owners   map[netip.Addr][]*backend // who had an address, the last one last
	all      []*backend                // that ever listened, in that order
}

var errClosed = errors.New("the arena is closed")

// New makes an arena in the namespaces that [Enter] prepared.
func New(o Options) (*Arena, error) {
	tap, err := openTap(o.Now)
	if err != nil {
		return nil, err
	}
	return &Arena{options: o, tap: tap, backends: make(map[string]*backend), owners: make(map[netip.Addr][]*backend)}, nil
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

// TriesInVain returns the tries to reach a backend in vain up to now, in order. Each is
// that of the backend which had the address then, or last; where none ever had it, the
// address stands for the name. An error means that packets were missed, so that the
// count is too low.
func (a *Arena) TriesInVain() ([]lab.TryInVain, error) {
	found, err := a.tap.inVain()
	a.mu.Lock()
	defer a.mu.Unlock()
	tries := make([]lab.TryInVain, len(found))
	for i, f := range found {
		tries[i] = lab.TryInVain{At: f.at, Backend: a.nameAt(f.address, f.at), Refused: f.refused}
	}
	return tries, err
}

func (a *Arena) nameAt(address netip.Addr, at lab.Moment) string {
	name := address.String()
	for i, b := range a.owners[address] {
		if i == 0 || b.since <= at {
			name = b.Name
		}
	}
	return name
}

// Close kills every backend and waits for it. The second call does nothing.
func (a *Arena) Close() error {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return nil
	}
	a.closed = true
	waiting := a.standby
	a.standby = nil
	for _, b := range a.backends {
		b.end = lab.Kill
		a.finish(b)
		b.kill()
	}
	for _, b := range a.all {
		b.kill() // those that still finish their requests
	}
	var failed error
	for address := range a.owners {
		if err := vanish(address); err != nil && !errors.Is(err, unix.ESRCH) {
			failed = errors.Join(failed, err)
		}
	}
	a.mu.Unlock()
	for _, p := range waiting {
		p.destroy()
	}
	a.tasks.Wait()
	return errors.Join(failed, a.tap.close())
}
