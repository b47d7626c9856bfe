package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// A fault is a way in which an input can be bad. While it stands, what is independent
// of it must not notice.
type fault struct {
	name string
	// before is written first, and what it comes to is accepted; nil is nothing more.
	before func(*testing.T, *stage)
	inject func(*testing.T, *stage)
	// rejected is the object at fault, "kind name", and what its verdict must say.
	rejected, says string
	// still is what serves although the fault stands: a host of the stage and its backend.
	still map[string]string
	// not are hosts that must answer 404 while it stands.
	not    []string
	repair func(*testing.T, *stage)
	// then is what serves after the repair.
	then map[string]string
}

// innocents are the objects whose verdicts must not change, "kind name".
var innocents = []string{"httproute e2e/steady", "httproute e2e/moving", "gateway e2e/edge", "service e2e/red"}

// steady is a shop whose routes have nothing to do with any fault.
func steady() map[string]string {
	return map[string]string{
		"base.yaml":    base,
		"gateway.yaml": gateway("edge", httpListener),
		"steady.yaml":  route("steady", "http", "steady"+domain, `  - `+to("red")),
		"moving.yaml":  route("moving", "http", "moving"+domain, `  - `+to("roaming")),
		"roaming.yaml": pair("e2e", "roaming", "@RED@"),
	}
}

// run tells the story of a fault: inject, watch, repair.
func (f fault) run(t *testing.T, s *stage) {
	if f.before != nil {
		f.before(t, s)
	}
	load := s.load(t, "steady"+domain, 2)
	roaming := s.roam(t)
	quiet := s.said(t)
	f.inject(t, s)

	s.eventually(t, "the verdict names the fault", func(ctx context.Context) error { return s.accuses(ctx, f.rejected, f.says) })
	s.serves(t, f.still)
	for _, host := range f.not {
		s.eventually(t, host+" does not serve", func(ctx context.Context) error { return s.try(ctx, host+domain, try{status: 404}) })
	}
	moves := roaming.moves.Load()
	s.eventually(t, "endpoints keep flowing", func(context.Context) error {
		if roaming.moves.Load() < moves+3 {
			return errors.New("not three more yet")
		}
		return nil
	})
	if now := s.said(t); now != quiet {
		t.Errorf("what is said of innocents changed from\n%s\nto\n%s", quiet, now)
	}

	f.repair(t, s)
	s.serves(t, f.then)
	kind, name, _ := strings.Cut(f.rejected, " ")
	s.eventually(t, "the repair releases it", func(ctx context.Context) error { return s.released(ctx, kind, name) })
	roaming.stop(t)
	load.stop()
	if failed, wrong := load.failed.Load(), load.wrong.Load(); failed+wrong > 0 {
		t.Errorf("%d requests failed and %d went wrong of %d: %v", failed, wrong, load.answered.Load(), load.firstError())
	}
}

// serves waits until hosts are answered by their backends.
func (s *stage) serves(t *testing.T, hosts map[string]string) {
	t.Helper()
	for host, backend := range hosts {
		s.eventually(t, host+" is served by "+backend, func(ctx context.Context) error { return s.try(ctx, host+domain, try{from: backend}) })
	}
}

// accuses returns nil if the object is rejected for a reason with these words.
func (s *stage) accuses(ctx context.Context, object, words string) error {
	kind, name, _ := strings.Cut(object, " ")
	v, err := s.API().Verdict(ctx, kind, name)
	if err != nil {
		return err
	}
	if v.State != verdict.Rejected || !strings.Contains(rig.Steps(v), words) {
		return fmt.Errorf("%s is %s, want Rejected with %q:%s", object, v.State, words, rig.Steps(v))
	}
	return nil
}

// released returns nil if nothing of the object is rejected any more; it may be gone.
func (s *stage) released(ctx context.Context, kind, name string) error {
	list, err := s.API().InputRejections(ctx)
	if err != nil {
		return err
	}
	for _, r := range list.InputRejections {
		if strings.EqualFold(r.Object.Kind, kind) && r.Object.Namespace+"/"+r.Object.Name == name {
			return fmt.Errorf("still rejected: %s", r.Message)
		}
	}
	return nil
}

// said is what is said of the innocents, without ages and times.
func (s *stage) said(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	for _, object := range innocents {
		kind, name, _ := strings.Cut(object, " ")
		v := s.waitState(t, kind, name, verdict.Serving)
		fmt.Fprintf(&out, "%s %s generation %d\n", object, v.State, v.Object.Generation)
		for _, step := range v.Steps {
			fmt.Fprintf(&out, "  %s %s %s %s\n", step.Stage, step.Outcome, step.Reason, step.Field)
		}
	}
	return out.String()
}

// roaming moves endpoints from backend to backend, each as soon as the last is served.
type roaming struct {
	moves atomic.Int64
	stop  func(*testing.T)
}

// slowest is how long an endpoint may take to be served while a fault stands, on a
// machine that is busy with other tests.
const slowest = 5 * time.Second

func (s *stage) roam(t *testing.T) *roaming {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, done, late := new(roaming), make(chan struct{}), error(nil)
	go func() {
		defer close(done)
		for late == nil && ctx.Err() == nil {
			for word, name := range map[string]string{"@GREEN@": "green", "@BLUE@": "blue"} {
				s.write(t, "roaming.yaml", pair("e2e", "roaming", word))
				if late = s.moved(ctx, name); late != nil {
					return
				}
				r.moves.Add(1)
			}
		}
	}()
	r.stop = func(t *testing.T) {
		t.Helper()
		cancel()
		<-done
		if late != nil {
			t.Errorf("after %d moves of endpoints: %v", r.moves.Load(), late)
		}
	}
	t.Cleanup(func() { cancel(); <-done })
	return r
}

// moved waits until the moving route is answered by a backend.
func (s *stage) moved(ctx context.Context, backend string) error {
	limit, cancel := context.WithTimeout(ctx, slowest)
	defer cancel()
	err := s.Until(limit, "an endpoint is served", func(c context.Context) error { return s.try(c, "moving"+domain, try{from: backend}) })
	if ctx.Err() != nil {
		return nil // the test is over
	}
	return err
}
