package load

import (
	"net"
	"slices"
	"sync"
)

// pool knows all open connections, and which of them wait for a request.
type pool struct {
	limit int // of kept connections that wait

	mu     sync.Mutex
	open   map[*connection]struct{}
	kept   int           // of open, those that are not fresh
	idle   []*connection // of kept, those that wait, longest first
	closed bool
}

func newPool(limit int) *pool { return &pool{limit: limit, open: make(map[*connection]struct{})} }

// take returns the kept connection that has waited longest, so that all of them take
// turns; nil if a new one is to be opened: there are fewer than the limit, or all are busy.
func (p *pool) take() *connection {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept < p.limit || len(p.idle) == 0 {
		return nil
	}
	conn := p.idle[0]
	p.idle = slices.Delete(p.idle, 0, 1)
	return conn
}

// add makes a new connection known. It fails once the pool is closed.
func (p *pool) add(conn *connection) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[conn] = struct{}{}
	if !conn.fresh {
		p.kept++
	}
	if p.closed {
		return net.ErrClosed
	}
	return nil
}

// put takes a connection back after its request, to keep it if it is whole.
func (p *pool) put(conn *connection, whole bool) {
	p.mu.Lock()
	keep := whole && !conn.fresh && !p.closed && len(p.idle) < p.limit
	if keep {
		p.idle = append(p.idle, conn)
	} else {
		delete(p.open, conn)
		if !conn.fresh {
			p.kept--
		}
	}
	p.mu.Unlock()
	if !keep {
		_ = conn.Close() // its request has ended already, well or not
	}
}

// close closes all connections, busy ones too, and those that come later.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for conn := range p.open {
		_ = conn.Close() // it ends what they wait for
	}
	p.idle = nil
}
