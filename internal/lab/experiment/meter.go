package experiment

import (
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// meter measures what the processes of a proxy spend. It splits the time of a run into
// restless stretches, in which a change is on its way, and calm ones; what changes cost
// is what the restless ones cost above the rate of the calm ones. What the observer's
// own questions cost is left out. The observer's goroutine owns it.
type meter struct {
	clock func() lab.Moment
	usage *usage
	// perQuestion is the CPU that one question costs the proxy.
	perQuestion time.Duration
	questions   int // so far

	began, last reading
	restless    bool
	busy, idle  reading // sums over the stretches of each kind
	memory      int64
	memoryAt    lab.Moment
}

// reading is what has been spent up to a moment; the difference of two is what a
// stretch cost.
type reading struct {
	at        lab.Moment
	cpu       time.Duration
	questions int
}

func (r reading) minus(s reading) reading {
	return reading{r.at - s.at, r.cpu - s.cpu, r.questions - s.questions}
}

func (r reading) plus(s reading) reading {
	return reading{r.at + s.at, r.cpu + s.cpu, r.questions + s.questions}
}

// CPU and memory are read at the borders of stretches, and this often for the sake of
// processes that end meanwhile.
const (
	readEvery   = lab.Moment(250 * time.Millisecond)
	memoryEvery = lab.Moment(time.Second)
)

func newMeter(roots func() []int, clock func() lab.Moment) *meter {
	return &meter{clock: clock, usage: newUsage(roots)}
}

func (m *meter) spent() time.Duration { return m.usage.cpu() }

func (m *meter) read() reading { return reading{m.clock(), m.spent(), m.questions} }

func (m *meter) begin() {
	m.last = m.read()
	m.began = m.last
}

// look notes whether a change is on its way.
func (m *meter) look(restless bool) {
	now := m.clock()
	if now-m.memoryAt >= memoryEvery {
		m.memory, m.memoryAt = max(m.memory, m.usage.memory()), now
	}
	if restless == m.restless && now-m.last.at < readEvery {
		return
	}
	m.turn()
	m.restless = restless
}

// turn books what was spent since the last reading.
func (m *meter) turn() {
	now := m.read()
	stretch := now.minus(m.last)
	if m.restless {
		m.busy = m.busy.plus(stretch)
	} else {
		m.idle = m.idle.plus(stretch)
	}
	m.last = now
}

func (m *meter) end() {
	m.turn()
	m.memory = max(m.memory, m.usage.memory())
}

// cost sums up.
func (m *meter) cost() lab.Cost {
	busy, idle := m.own(m.busy), m.own(m.idle)
	cost := lab.Cost{CPU: (busy + idle).Seconds(), Memory: m.memory}
	if m.idle.at > 0 {
		rate := idle.Seconds() / m.idle.at.Seconds()
		cost.Propagation = max(0, busy.Seconds()-rate*m.busy.at.Seconds())
	}
	return cost
}

// own is what a stretch cost without the observer's questions.
func (m *meter) own(r reading) time.Duration {
	return max(0, r.cpu-time.Duration(r.questions)*m.perQuestion)
}
