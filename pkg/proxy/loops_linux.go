package proxy

import (
	"runtime"
	"slices"
	"sync"
)

// loops are the loops that have relays. They begin with the first relay and end
// with the last, which waits for them.
var loops struct {
	mu  sync.Mutex
	all []*loop
}

// mostLoops leaves processors to the rest of the program. While one is idle, Go's
// scheduler lets a loop that waits keep its own; otherwise it takes that away every
// few microseconds and looks for work, at the cost of what the loop itself does.
func mostLoops() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// joinLoop returns the loop with the fewest relays.
func joinLoop() (*loop, error) {
	loops.mu.Lock()
	defer loops.mu.Unlock()
	var least *loop
	for _, l := range loops.all {
		if least == nil || l.relays < least.relays {
			least = l
		}
	}
	if least == nil || len(loops.all) < mostLoops() {
		l, err := newLoop()
		switch {
		case err == nil:
			loops.all = append(loops.all, l)
			least = l
		case least == nil:
			return nil, err
		}
	}
	least.relays++
	return least, nil
}

// quit is called once for each joinLoop.
func (l *loop) quit() {
	loops.mu.Lock()
	defer loops.mu.Unlock()
	if l.relays--; l.relays > 0 {
		return
	}
	loops.all = slices.DeleteFunc(loops.all, func(other *loop) bool { return other == l })
	l.end()
}
