package experiment

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// lead is how long before it is routable a backend is started, as a pod starts before
// it is ready. It covers the start of many at once.
const lead = lab.Moment(time.Second)

// stage changes the truth as the timeline says: it starts and ends the backends.
type stage struct {
	plan    Plan
	world   World
	record  *record
	carrier *carrier

	starts  sync.WaitGroup
	started map[string]chan error // the last start of each backend
}

// scene is one thing to do at a moment.
type scene struct {
	at lab.Moment
	do func(ctx context.Context) error
}

func newStage(plan Plan, world World, r *record, c *carrier) *stage {
	return &stage{plan: plan, world: world, record: r, carrier: c, started: map[string]chan error{}}
}

// prepare starts the backends for whose start the run leaves no time, and waits for
// them: they are there when it begins, as those that come later are at their moment.
func (s *stage) prepare(ctx context.Context) error {
	defer s.starts.Wait()
	for _, e := range s.plan.Timeline.Events {
		if e.At > lead {
			break
		}
		if e.Kind == lab.Add && s.started[e.Backend] == nil {
			if err := s.start(ctx, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// run plays all events in order. It waits for the starts that it began.
func (s *stage) run(ctx context.Context) error {
	defer s.starts.Wait()
	for _, scene := range s.scenes() {
		if err := until(ctx, s.record.clock, scene.at); err != nil {
			return err
		}
		if err := scene.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// scenes splits the events into what happens before, at and after their moment. Equal
// moments keep the order of the events; what would be after the run does not happen.
func (s *stage) scenes() []scene {
	var out []scene
	add := func(at lab.Moment, do func(context.Context) error) {
		if at < s.plan.Timeline.Length {
			out = append(out, scene{at, do})
		}
	}
	ends := map[string]lab.Moment{} // when the last process of each backend is over
	for _, e := range s.plan.Timeline.Events {
		switch e.Kind {
		case lab.Add:
			if _, back := ends[e.Backend]; back || e.At > lead { // else it is prepared
				add(max(e.At-lead, ends[e.Backend]), func(ctx context.Context) error { return s.start(ctx, e) })
			}
			add(e.At, func(ctx context.Context) error { return s.add(ctx, e) })
			ends[e.Backend] = s.plan.Timeline.Length
		case lab.Remove, lab.Lose:
			add(e.At, func(context.Context) error { return s.leave(e) })
			if over := e.At + e.Grace; over < ends[e.Backend] { // the Remove of a lost one ends nothing
				add(over, func(context.Context) error { return s.world.EndBackend(e.Backend, e.End) })
				ends[e.Backend] = over
			}
		case lab.Reload:
			if e.Proxy == "" || e.Proxy == s.plan.Name {
				add(e.At, func(context.Context) error { s.carrier.reloadNow(); return nil })
			}
		}
	}
	slices.SortStableFunc(out, func(a, b scene) int { return cmp.Compare(a.at, b.at) })
	return out
}

// start begins to start a backend.
func (s *stage) start(ctx context.Context, e lab.Event) error {
	address, err := netip.ParseAddr(e.Address)
	if err != nil {
		return fmt.Errorf("backend %s has no address: %w", e.Backend, err)
	}
	done := make(chan error, 1)
	s.started[e.Backend] = done
	s.starts.Go(func() { done <- s.world.StartBackend(ctx, e.Backend, address) })
	return nil
}

// add makes a backend routable, once it answers.
func (s *stage) add(ctx context.Context, e lab.Event) error {
	select {
	case err := <-s.started[e.Backend]:
		if err != nil {
			return err
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := s.record.routable(e, true); err != nil {
		return err
	}
	s.carrier.tell(e, true)
	return nil
}

// leave ends the truth of a backend; of a lost one nobody is told.
func (s *stage) leave(e lab.Event) error {
	if err := s.record.routable(e, false); err != nil {
		return err
	}
	if e.Kind == lab.Remove {
		s.carrier.tell(e, false)
	}
	return nil
}
