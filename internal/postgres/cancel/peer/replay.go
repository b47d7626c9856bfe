package peer

import (
	"errors"
	"sync"
	"time"
)

// Window is how far the time of a question may be from that of its reader, either way:
// clocks that are kept by NTP are much closer.
const Window = 15 * time.Second

// maxHeard bounds how many questions are remembered. Only whoever has the shared key can
// make them so many; further ones are dropped until some are forgotten.
const maxHeard = 1 << 16

// Why a question is dropped although it is sealed well.
var (
	errStale    = errors.New("its time is too far from this replica's")
	errReplayed = errors.New("it has been heard before")
	errBusy     = errors.New("this replica has heard too many")
)

// memory refuses questions that are old or have been heard before.
type memory struct {
	mu    sync.Mutex
	heard map[Nonce]struct{}
	queue []heard // the first heard first
}

type heard struct {
	nonce Nonce
	at    time.Time
}

// admit remembers a question and returns nil, or why it is refused. A question is
// remembered for two windows: what was ahead by one is too old then.
func (m *memory) admit(q Question, now time.Time) error {
	if age := now.Sub(q.Time); age > Window || age < -Window {
		return errStale
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.queue) > 0 && now.Sub(m.queue[0].at) > 2*Window {
		delete(m.heard, m.queue[0].nonce)
		m.queue = m.queue[1:]
	}
	if _, again := m.heard[q.Nonce]; again {
		return errReplayed
	}
	if len(m.queue) >= maxHeard {
		return errBusy
	}
	if m.heard == nil {
		m.heard = make(map[Nonce]struct{})
	}
	m.heard[q.Nonce] = struct{}{}
	m.queue = append(m.queue, heard{q.Nonce, now})
	return nil
}
