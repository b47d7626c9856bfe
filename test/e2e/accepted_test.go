package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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

// innocents are the objects whose verdicts and status must not change, "kind name".
var innocents = []string{
	"httproute e2e/steady", "httproute e2e/fixed", "httproute e2e/closed", "httproute e2e/moving",
	"gateway e2e/edge", "gateway e2e/safe", "service e2e/red", "secret e2e/closed-tls",
}

// steady is a shop whose routes have nothing to do with any fault. Its HTTPS listener is
// a Gateway of its own, so that faults of edge are not its faults.
func steady(t *testing.T, s *stage) map[string]string {
	return map[string]string{
		"base.yaml":    base,
		"gateway.yaml": gateway("edge", httpListener),
		"safe.yaml":    gateway("safe", safeListener),
		"pair.yaml":    s.sealed(t, "closed-tls", "closed"+domain),
		"steady.yaml":  route("steady", "http", "steady"+domain, `  - `+to("red")),
		"fixed.yaml":   route("fixed", "http", "fixed"+domain, `  - `+to("green")),
		"closed.yaml":  strings.Replace(route("closed", "https", "closed"+domain, `  - `+to("blue")), "name: edge", "name: safe", 1),
		"moving.yaml":  route("moving", "http", "moving"+domain, `  - `+to("roaming")),
		"roaming.yaml": pair("e2e", "roaming", "@RED@"),
	}
}

const safeListener = `  - {name: https, protocol: HTTPS, port: @HTTPS@, hostname: "closed.e2e.test", tls: {certificateRefs: [{name: closed-tls}]}}
`

// startSteady runs gatehouse over the steady shop.
func startSteady(t *testing.T, args ...string) *stage {
	t.Helper()
	s := prepare(t)
	for name, text := range steady(t, s) {
		s.write(t, name, text)
	}
	s.run(t, args...)
	s.must(t, s.WaitReady)
	return s
}

// stands is how long a fault stands at least.
const stands = time.Second

// run tells the story of a fault: inject, watch, repair.
func (f fault) run(t *testing.T, s *stage) {
	if f.before != nil {
		f.before(t, s)
	}
	loads := s.healthy(t)
	roaming := s.roam(t)
	quiet := s.said(t)
	since := time.Now()
	f.inject(t, s)
	f.bad(t, s)
	s.eventually(t, "the fault has stood for a while, and endpoints keep flowing", func(context.Context) error {
		if time.Since(since) < stands {
			return errors.New("not long enough yet")
		}
		return nil
	})
	moves := roaming.moves.Load()
	s.eventually(t, "endpoints keep flowing", func(context.Context) error {
		if roaming.moves.Load() < moves+3 {
			return errors.New("not three more yet")
		}
		return nil
	})
	f.bad(t, s)
	if now := s.said(t); now != quiet {
		t.Errorf("what is said of innocents changed from\n%s\nto\n%s", quiet, now)
	}

	f.repair(t, s)
	s.serves(t, f.then)
	kind, name, _ := strings.Cut(f.rejected, " ")
	s.eventually(t, "the repair releases it", func(ctx context.Context) error { return s.released(ctx, kind, name) })
	roaming.end(t)
	for _, l := range loads {
		l.judge(t)
	}
}

// bad waits for what must hold while the fault stands.
func (f fault) bad(t *testing.T, s *stage) {
	t.Helper()
	s.eventually(t, "the verdict names the fault", func(ctx context.Context) error { return s.accuses(ctx, f.rejected, f.says) })
	s.serves(t, f.still)
	for _, host := range f.not {
		s.eventually(t, host+" does not serve", func(ctx context.Context) error { return s.try(ctx, host+domain, try{status: 404}) })
	}
}

// healthy is a constant load of about 100 requests a second on what must not notice: over
// kept connections, and over new ones with TLS.
func (s *stage) healthy(t *testing.T) []*load {
	t.Helper()
	const pause = 20 * time.Millisecond
	loads := []*load{
		{request: rig.Request{Port: s.http, Host: "steady" + domain}, pause: pause},
		{request: rig.Request{Port: s.http, Host: "fixed" + domain}, pause: pause},
		{request: rig.Request{Port: s.https, Host: "closed" + domain, Roots: s.roots}, pause: 2 * pause, fresh: true},
	}
	for _, l := range loads {
		l.start(t, 1)
	}
	return loads
}

// serves waits until hosts are answered by their backends; a host that begins with
// "tls:" on the port TCP, over HTTPS.
func (s *stage) serves(t *testing.T, hosts map[string]string) {
	t.Helper()
	for host, backend := range hosts {
		want := try{from: backend}
		name, secure := strings.CutPrefix(host, "tls:")
		if secure {
			want.through = "tls"
		}
		s.eventually(t, host+" is served by "+backend, func(ctx context.Context) error { return s.try(ctx, name+domain, want) })
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

// said is what is said of the innocents, without ages and times: their verdicts, and
// the conditions that they have.
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
		raw := must(s.API().Object(t.Context(), kind, name))(t)
		var o struct {
			Status json.RawMessage `json:"status"`
		}
		if err := json.Unmarshal(raw, &o); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "  %s\n", o.Status)
	}
	return out.String()
}

// roaming moves endpoints from backend to backend, each as soon as the last is served.
type roaming struct {
	moves  atomic.Int64
	cancel context.CancelFunc
	done   chan struct{}
	took   []time.Duration // of each move; to be read once done
	late   error
}

// slowest is how long an endpoint may take to be served while a fault stands, on a
// machine that is busy with other tests.
const slowest = 2 * time.Second

func (s *stage) roam(t *testing.T) *roaming {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &roaming{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for turn := 0; r.late == nil && ctx.Err() == nil; turn++ {
			s.write(t, "roaming.yaml", pair("e2e", "roaming", []string{"@GREEN@", "@BLUE@"}[turn%2]))
			since := time.Now()
			r.late = s.moved(ctx, []string{"green", "blue"}[turn%2])
			r.took = append(r.took, time.Since(since))
			r.moves.Add(1)
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-r.done })
	return r
}

// end fails the test if an endpoint was not served in time.
func (r *roaming) end(t *testing.T) {
	t.Helper()
	r.cancel()
	<-r.done
	if r.late != nil {
		t.Errorf("after %d moves of endpoints: %v", r.moves.Load(), r.late)
	}
	slices.Sort(r.took)
	t.Logf("%d endpoints moved, the median one served after %s, the slowest after %s", len(r.took), r.took[len(r.took)/2], r.took[len(r.took)-1])
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
