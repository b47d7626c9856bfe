package experiment

import (
	"context"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// payer is a proxy that knows what everything costs it, and believes what it is told
// some time later.
type payer struct {
	proxy.Proxy
	clock *Clock
	takes time.Duration // an answer

	question, backend, change time.Duration // the CPU of each; of a change when it is believed
	rate                      float64       // the CPU of its requests, by the second

	mu             sync.Mutex
	spent          time.Duration
	believed, next []netip.Addr
	told, at       lab.Moment // when it was told of next, and when it will believe it
	asked          int
}

const slow = lab.Moment(31 * time.Millisecond)

func (p *payer) Update(_ context.Context, backends []proxy.Backend) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = p.clock.Now()
	p.next, p.at = nil, p.told+slow
	for _, b := range backends {
		p.next = append(p.next, b.Address)
	}
	return nil
}

func (p *payer) Belief(context.Context) (proxy.Belief, error) {
	p.mu.Lock()
	if p.at > 0 && p.clock.Now() >= p.at {
		p.believed, p.at = p.next, 0
		p.spent += p.change
	}
	p.asked++
	p.spent += p.question + time.Duration(len(p.believed))*p.backend
	believed := p.believed
	p.mu.Unlock()
	time.Sleep(p.takes)
	return proxy.Belief{All: believed, Some: believed}, nil
}

func (p *payer) cpu() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spent + time.Duration(p.rate*float64(p.clock.Now()))
}

// memory is that of two generations for 70 ms after a change.
func (p *payer) memory() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if since := p.clock.Now() - p.told; p.told > 0 && since > slow && since < slow+seconds(0.07) {
		return 2
	}
	return 1
}

// observe plays events on a payer and returns its observer.
func observe(t *testing.T, p *payer, events []lab.Event, length lab.Moment) (o *observer) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p.clock = new(Clock)
		plan := Plan{Model: lab.ModelStream, Timeline: lab.Timeline{Events: events, Length: length}}
		r := newRecord(p.clock.Now, length)
		m := &meter{clock: p.clock.Now, cpu: p.cpu, memory: p.memory}
		o = &observer{proxy: p, record: r, meter: m}
		if err := o.calibrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.clock.Start()
		c := newCarrier(plan, p, r)
		s := newStage(plan, &diary{clock: p.clock}, r, c)
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for _, run := range []func(context.Context) error{c.run, o.run} {
			wg.Go(func() {
				if err := run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		if err := s.run(ctx); err != nil {
			t.Error(err)
		}
		if err := until(ctx, p.clock.Now, length); err != nil {
			t.Error(err)
		}
		stop()
		wg.Wait()
	})
	return o
}

// manyEvents has 40 backends come at once, and one change a second after that.
func manyEvents() (events []lab.Event) {
	for i := range 40 {
		events = append(events, lab.Event{At: seconds(5), Kind: lab.Add, Backend: name(i), Address: address4(i)})
	}
	for i := range 20 {
		events = append(events, lab.Event{At: seconds(6 + float64(i)), Kind: lab.Add, Backend: name(40 + i), Address: address4(40 + i)})
	}
	return events
}

func name(i int) string { return address4(i) }

func address4(i int) string { return netip.AddrFrom4([4]byte{10, 0, 1, byte(i + 1)}).String() }

// What questions cost is no cost of changes, also when answers name so many backends
// that they cost several times what they cost when none was there.
func TestQuestionsAreNoCostOfChanges(t *testing.T) {
	p := &payer{
		takes:    200 * time.Microsecond,
		question: 70 * time.Microsecond, backend: 2 * time.Microsecond, change: 5 * time.Millisecond, rate: 0.02,
	}
	o := observe(t, p, manyEvents(), seconds(30))
	cost := o.meter.cost()
	updates := 21 // the first 40 are told of as one, or nearly so
	want := float64(updates) * p.change.Seconds()
	if got := cost.Propagation; got < 0.9*want || got > 1.5*want {
		t.Errorf("propagation cost %.3f s, want some %.3f s; %d questions, %+v", got, want, p.asked, o.meter.price)
	}
	if each := o.meter.price.backend; each < 1500 || each > 2500 {
		t.Errorf("each backend in an answer was measured to cost %.0f ns, want 2000", each)
	}
}

// A belief is dated no earlier than it was held, and no later by more than the
// resolution: from one question to the end of the next answer.
func TestWindowsAreKnownToTheResolution(t *testing.T) {
	p := &payer{takes: 700 * time.Microsecond}
	o := observe(t, p, manyEvents(), seconds(30))
	known := o.resolution()
	if want := lab.Moment(2*p.takes + oftenEvery); known.P50 != want || known.Max > 2*want {
		t.Errorf("resolution %v, want %v", known, want)
	}
	history, err := o.record.history()
	if err != nil {
		t.Fatal(err)
	}
	if len(history.Wrong.Windows) != 21 {
		t.Errorf("%d windows, want 21", len(history.Wrong.Windows))
	}
	for _, w := range history.Wrong.Windows {
		if length := lab.Moment(w.Length()); length < slow || length > slow+known.Max {
			t.Errorf("a window of %v is said to be %v, which is not known to %v", slow, length, known.Max)
		}
	}
}

// Two generations that live side by side for less than a tenth of a second are seen.
func TestMemoryOfTwoGenerations(t *testing.T) {
	o := observe(t, &payer{takes: time.Millisecond}, manyEvents()[40:41], seconds(9))
	if got := o.meter.cost().Memory; got != 2 {
		t.Errorf("the memory is that of %d generations, want 2", got)
	}
}
