package standalone

import "time"

// loss are the Proxies that no document defines any more.
type loss struct {
	// missing is how many, and of how many Proxies.
	missing, total int
	// newest and oldest are since when: the last one, and the first one.
	newest, oldest time.Time
	// files is how many files of documents the directory has.
	files int
	// allowed: more than half may go at once.
	allowed bool
}

// decision is what becomes of a loss.
type decision int

const (
	wait     decision = iota // look again: more may be on its way
	letGo                    // they are deleted
	holdNone                 // none goes: the directory is empty
	holdHalf                 // none goes: they are more than half
)

// A loss is judged once it has not grown for settleTime, or after settleMost: a
// directory that is being emptied is judged as a whole.
const (
	settleTime = 2 * time.Second
	settleMost = 15 * time.Second
)

// judge decides about a loss; after is when to look again, if it waits.
func (l loss) judge(now time.Time) (d decision, after time.Duration) {
	switch {
	case l.missing == 0:
		return letGo, 0
	case l.files == 0:
		return holdNone, 0
	}
	if left := min(settleTime-now.Sub(l.newest), settleMost-now.Sub(l.oldest)); left > 0 {
		return wait, left
	}
	if 2*l.missing > l.total && !l.allowed {
		return holdHalf, 0
	}
	return letGo, 0
}
