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
	clock  func() lab.Moment
	cpu    func() time.Duration // of all processes so far
	memory func() int64         // of all processes now
	price  price

	last            reading
	restless        bool
	stirred, rested reading // sums over the restless and the calm stretches
	asked, backends int     // questions so far, and backends in all their answers
	resident        int64   // the most so far
	residentAt      lab.Moment
	stirredAt       lab.Moment // when the last change came
}

// reading is what has been spent up to a moment; the difference of two is what a
// stretch cost.
type reading struct {
	at              lab.Moment
	cpu             time.Duration
	asked, backends int
}

func (r reading) minus(s reading) reading {
	return reading{r.at - s.at, r.cpu - s.cpu, r.asked - s.asked, r.backends - s.backends}
}

func (r reading) plus(s reading) reading {
	return reading{r.at + s.at, r.cpu + s.cpu, r.asked + s.asked, r.backends + s.backends}
}

// CPU and memory are read where calm begins. In between CPU is read for the sake of
// processes that end meanwhile, and memory for the sake of those that are there for a
// while only: old and new workers of nginx live side by side for 100 ms. Nothing is read
// in the first moments of a change: reading takes milliseconds where many processes want
// the processor, and a belief that changes meanwhile would be seen that much too late.
const (
	readEvery      = lab.Moment(250 * time.Millisecond)
	memoryRestless = lab.Moment(50 * time.Millisecond)
	memoryCalm     = lab.Moment(time.Second)
)

func newMeter(roots func() []int, clock func() lab.Moment) *meter {
	u := newUsage(roots)
	return &meter{clock: clock, cpu: u.cpu, memory: u.memory}
}

// question counts one answer, with that many backends in it.
func (m *meter) question(backends int) {
	m.asked++
	m.backends += backends
}

func (m *meter) read() reading { return reading{m.clock(), m.cpu(), m.asked, m.backends} }

func (m *meter) begin() {
	m.last = m.read()
	m.weigh()
}

// look notes whether a change is on its way. One that has just come is booked from the
// last reading on; the calm before it is taken off again at the calm rate.
func (m *meter) look(restless bool) {
	now, every := m.clock(), memoryCalm
	if restless && !m.restless {
		m.restless, m.residentAt, m.stirredAt = true, now, now
		return
	}
	if m.restless {
		every = memoryRestless
	}
	calms := m.restless && !restless
	if calms || now-m.residentAt >= every {
		m.weigh()
	}
	if calms || now-max(m.last.at, m.stirredAt) >= readEvery {
		m.turn()
		m.restless = restless
	}
}

func (m *meter) weigh() { m.resident, m.residentAt = max(m.resident, m.memory()), m.clock() }

// turn books what was spent since the last reading.
func (m *meter) turn() {
	now := m.read()
	stretch := now.minus(m.last)
	if m.restless {
		m.stirred = m.stirred.plus(stretch)
	} else {
		m.rested = m.rested.plus(stretch)
	}
	m.last = now
}

func (m *meter) end() {
	m.turn()
	m.weigh()
}

// calmRate is the CPU that a second of calm costs without questions; false if there was
// too little of it to tell.
func (m *meter) calmRate() (float64, bool) {
	return m.own(m.rested) / m.rested.at.Seconds(), m.rested.at >= memoryCalm
}

// cost sums up.
func (m *meter) cost() lab.Cost {
	stirred, rested := m.own(m.stirred), m.own(m.rested)
	cost := lab.Cost{CPU: stirred + rested, Memory: m.resident}
	if m.rested.at > 0 {
		cost.Propagation = max(0, stirred-rested/m.rested.at.Seconds()*m.stirred.at.Seconds())
	}
	return cost
}

// own is what a stretch cost without the observer's questions, in seconds.
func (m *meter) own(r reading) float64 { return max(0, (r.cpu - m.price.of(r)).Seconds()) }
