package experiment

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// diary notes what an experiment does to a world and tells a proxy, and when.
type diary struct {
	clock *Clock
	fail  string // the start of this backend fails

	mu    sync.Mutex
	lines []string
}

func (d *diary) note(words ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	moment := time.Duration(d.clock.Now()).Round(time.Millisecond)
	d.lines = append(d.lines, moment.String()+" "+strings.Join(words, " "))
}

func (d *diary) StartBackend(_ context.Context, name string, _ netip.Addr) error {
	d.note("start", name)
	if name == d.fail {
		return errors.New("no room for " + name)
	}
	return nil
}

func (d *diary) EndBackend(name string, end lab.End) error {
	d.note(string(end), name)
	return nil
}

func (d *diary) Serving() []lab.BackendSpan            { return nil }
func (d *diary) TriesInVain() ([]lab.TryInVain, error) { return nil, nil }

// told is a proxy that notes what it is told, and takes a while over it.
type told struct {
	proxy.Proxy
	diary *diary
	takes time.Duration
}

func (t told) Update(ctx context.Context, backends []proxy.Backend) error {
	names := make([]string, len(backends))
	for i, b := range backends {
		names[i] = b.Name
	}
	t.diary.note("tell", strings.Join(names, "+"))
	select {
	case <-time.After(t.takes):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func seconds(s float64) lab.Moment { return lab.Moment(s * float64(time.Second)) }

func added(at float64, name string) lab.Event {
	return lab.Event{At: seconds(at), Kind: lab.Add, Backend: name, Address: "10.0.1." + strings.TrimLeft(name, "abcdefg")}
}

// perform plays events on a stage and a carrier alone, and returns the diary.
func perform(t *testing.T, plan Plan, takes time.Duration) ([]string, error) {
	t.Helper()
	var lines []string
	var err error
	synctest.Test(t, func(t *testing.T) {
		d := &diary{clock: new(Clock)}
		d.clock.Start()
		r := newRecord(d.clock.Now, plan.Timeline.Length)
		c := newCarrier(plan, told{diary: d, takes: takes}, r)
		s := newStage(plan, d, r, c)
		if err := s.prepare(t.Context()); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.run(ctx) }()
		err = errors.Join(s.run(ctx), until(ctx, d.clock.Now, plan.Timeline.Length))
		cancel()
		err = errors.Join(err, <-done)
		lines = d.lines
	})
	return lines, err
}

var story = []lab.Event{
	added(2, "a1"), added(3, "b2"),
	{At: seconds(4), Kind: lab.Reload},
	{At: seconds(5), Kind: lab.Remove, Backend: "a1", Address: "10.0.1.1", End: lab.Stop, Grace: seconds(1)},
	{At: seconds(7), Kind: lab.Lose, Backend: "b2", Address: "10.0.1.2", End: lab.Kill},
	{At: seconds(8), Kind: lab.Remove, Backend: "b2", Address: "10.0.1.2", End: lab.Kill},
	{At: seconds(9), Kind: lab.Reload, Proxy: "other"},
}

func TestWhatProxiesAreTold(t *testing.T) {
	world := []string{"1s start a1", "2s start b2", "6s stop a1", "7s kill b2"}
	for name, c := range map[string]struct {
		model  lab.Model
		policy lab.Policy
		want   []string
	}{
		"a stream is told of each change; of a lost backend only when it is removed": {
			model: lab.ModelStream, want: []string{"2s tell a1", "3s tell a1+b2", "5s tell b2", "8s tell "},
		},
		"a reload at its steps, unless they name another proxy": {
			model: lab.ModelReload, want: []string{"4s tell a1+b2"},
		},
		"a reload on change, after the batch and no sooner than the interval": {
			model:  lab.ModelReload,
			policy: lab.Policy{OnChange: true, Interval: seconds(2.5), Batch: seconds(0.1)},
			want:   []string{"2.1s tell a1", "4s tell a1+b2", "6.5s tell b2", "9s tell "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan := Plan{Name: "p", Model: c.model, Timeline: lab.Timeline{Events: story, Length: seconds(10), Reload: c.policy}}
			got, err := perform(t, plan, 0)
			if err != nil {
				t.Fatal(err)
			}
			var tells, rest []string
			for _, line := range got {
				if strings.Contains(line, " tell ") {
					tells = append(tells, line)
				} else {
					rest = append(rest, line)
				}
			}
			if diff := cmp.Diff(c.want, tells); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(world, rest); diff != "" {
				t.Errorf("done to the world (-want +got):\n%s", diff)
			}
		})
	}
}

// While one hand-over takes its time, later changes gather.
func TestSlowProxyIsToldTheNewest(t *testing.T) {
	events := []lab.Event{added(1, "a1"), added(2, "a2"), added(3, "a3"), added(4, "a4")}
	got, err := perform(t, Plan{Model: lab.ModelStream, Timeline: lab.Timeline{Events: events, Length: seconds(9)}}, 2500*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	got = slices.DeleteFunc(got, func(line string) bool { return !strings.Contains(line, " tell ") })
	if diff := cmp.Diff([]string{"1s tell a1", "3.5s tell a1+a2+a3", "6s tell a1+a2+a3+a4"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A backend that comes back starts when its last process is over, not before.
func TestComesBackAfterItsEnd(t *testing.T) {
	events := []lab.Event{
		added(1, "a1"),
		{At: seconds(2), Kind: lab.Remove, Backend: "a1", Address: "10.0.1.1", End: lab.Stop, Grace: seconds(2)},
		added(4.5, "a1"),
	}
	got, err := perform(t, Plan{Model: lab.ModelReload, Timeline: lab.Timeline{Events: events, Length: seconds(9)}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0s start a1", "4s stop a1", "4s start a1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A backend that does not start ends the run with its cause.
func TestBackendThatDoesNotStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &diary{clock: new(Clock), fail: "a1"}
		d.clock.Start()
		plan := Plan{Timeline: lab.Timeline{Events: []lab.Event{added(2, "a1")}, Length: seconds(9)}}
		r := newRecord(d.clock.Now, plan.Timeline.Length)
		s := newStage(plan, d, r, newCarrier(plan, told{diary: d}, r))
		if err := s.run(t.Context()); err == nil || err.Error() != "no room for a1" {
			t.Errorf("got %v", err)
		}
	})
}

// Changes of one moment are handed over once, or in parts, but never the same twice.
func TestNothingIsToldTwice(t *testing.T) {
	events := []lab.Event{added(2, "a1"), added(2, "a2"), added(2, "a3"), added(2, "a4")}
	got, err := perform(t, Plan{Model: lab.ModelStream, Timeline: lab.Timeline{Events: events, Length: seconds(9)}}, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for _, line := range got {
		if _, set, tells := strings.Cut(line, " tell "); tells {
			if n := strings.Count(set, "a"); n <= last {
				t.Errorf("told %q after %d backends", line, last)
			} else {
				last = n
			}
		}
	}
	if last != 4 {
		t.Errorf("told of %d backends, want 4", last)
	}
}
