package kill_test

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/gc"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
)

// Times of the operators here.
const (
	sweepInterval = 10 * time.Minute
	sweepMinAge   = 10 * time.Minute
)

// operator is one process: the core with a shell of the simplest kind, which does one
// thing after the other and lets the stage's time go on in between.
type operator struct {
	*stage
	*blade
	kept    objects
	core    *reconcile.Reconciler
	sweeper *gc.Sweeper
	sweepAt time.Time
	// still keeps it from looking at Proxies that are as they should be.
	still bool

	due     map[types.NamespacedName]time.Time
	failed  map[types.NamespacedName]int
	version map[types.NamespacedName]string
}

// follower is objects that the operator itself must bring to what users have written.
type follower interface {
	follow(t *testing.T, b *blade)
}

// start begins a process that may make so many calls.
func start(t *testing.T, s *stage, calls int) *operator {
	t.Helper()
	b := &blade{left: calls}
	kept := s.objects(t)
	store := cutObjects{kept, b}
	providers := map[string]provider.Provider{s.name(): b.cut(s.provider(t, s.cluster()))}
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	return &operator{
		stage: s, blade: b, kept: kept,
		core: &reconcile.Reconciler{Objects: store, Providers: providers, Cluster: s.cluster(), Now: s.clock.now},
		sweeper: &gc.Sweeper{
			Cluster: s.cluster(), MinAge: sweepMinAge,
			Objects: store, Providers: providers, Now: s.clock.now, Log: log, Recorder: silent{},
		},
		sweepAt: s.clock.now().Add(sweepInterval),
		due:     map[types.NamespacedName]time.Time{}, failed: map[types.NamespacedName]int{}, version: map[types.NamespacedName]string{},
	}
}

// run works until it is so, the blade falls, or the time is over. It returns how long
// that took, and whether it is so.
func (o *operator) run(t *testing.T, so func() bool, most time.Duration) (took time.Duration, done bool) {
	t.Helper()
	began := o.clock.now()
	ended := make(chan struct{})
	go func() { // which the blade may end
		defer close(ended)
		for !so() && o.clock.now().Sub(began) < most {
			o.step(t)
		}
	}()
	<-ended
	return o.clock.now().Sub(began), so()
}

// step does what is due next.
func (o *operator) step(t *testing.T) {
	o.notice(t)
	key, at := o.next()
	if at.IsZero() || o.sweepAt.Before(at) {
		o.wait(t, o.sweepAt)
		o.sweeper.Sweep(t.Context())
		o.sweepAt = o.clock.now().Add(sweepInterval)
		return
	}
	o.wait(t, at)
	result, err := o.core.Reconcile(t.Context(), key)
	o.plan(key, result, err)
}

// notice makes due what has changed, as a watch does.
func (o *operator) notice(t *testing.T) {
	if f, ok := o.kept.(follower); ok {
		f.follow(t, o.blade)
	}
	there := map[types.NamespacedName]bool{}
	for _, p := range o.proxies(t) {
		key := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
		there[key] = true
		if version := fmt.Sprint(p.UID, p.ResourceVersion); o.version[key] != version {
			o.version[key], o.due[key] = version, o.clock.now()
		}
	}
	maps.DeleteFunc(o.due, func(key types.NamespacedName, _ time.Time) bool { return !there[key] })
}

// next is what is due first, the zero time for nothing.
func (o *operator) next() (key types.NamespacedName, at time.Time) {
	byName := func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) }
	for _, k := range slices.SortedFunc(maps.Keys(o.due), byName) {
		if at.IsZero() || o.due[k].Before(at) {
			key, at = k, o.due[k]
		}
	}
	return key, at
}

func (o *operator) wait(t *testing.T, until time.Time) {
	if d := until.Sub(o.clock.now()); d > 0 {
		o.advance(t, d)
	}
}

func (o *operator) plan(key types.NamespacedName, result reconcile.Result, err error) {
	delete(o.due, key)
	if err != nil {
		o.failed[key]++
		o.due[key] = o.clock.now().Add(min(5*time.Minute, time.Second<<min(o.failed[key], 10)))
		return
	}
	delete(o.failed, key)
	if result.After > 0 && !(o.still && result.After >= lifecycle.DriftPoll) {
		o.due[key] = o.clock.now().Add(result.After)
	}
}

// silent records nothing.
type silent struct{}

func (silent) SweepEnded(string)                    {}
func (silent) SweepRefused(string)                  {}
func (silent) InstanceSwept(string, string, string) {}
