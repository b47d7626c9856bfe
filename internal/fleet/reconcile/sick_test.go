package reconcile

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// prober is what probes say of each Proxy, as if they came to it at once.
type prober struct {
	w        *world
	fails    map[string]bool // by name
	since    map[string]time.Time
	doubtful bool
	unprobed bool // by this process
}

func newProber(w *world) *prober {
	return &prober{w: w, fails: map[string]bool{}, since: map[string]time.Time{}}
}

func (h *prober) Doubtful() bool { return h.doubtful }

func (h *prober) Probed(*proxy) bool { return !h.unprobed }

func (h *prober) Snapshot(p *proxy) (Verdict, bool) {
	if h.unprobed {
		return Verdict{}, false
	}
	v := Verdict{Healthy: true, Reason: egress_v1alpha1.ReasonProbeOK, LatencyMillis: 20}
	if h.fails[p.Name] {
		v = Verdict{Reason: egress_v1alpha1.ReasonProbeFailed, Message: "refused"}
	}
	v.Since, v.At = h.since[p.Name], h.since[p.Name]
	return v, true
}

// turn makes the probes of a Proxy fail, or not any more.
func (h *prober) turn(name string, fails bool) {
	if h.fails[name] != fails {
		h.fails[name], h.since[name] = fails, h.w.now
	}
}

const patience = 30 * time.Minute

func impatient(p *proxy) {
	p.Spec.Lifecycle = &egress_v1alpha1.Lifecycle{ReplaceOnUnhealthyAfter: &meta_v1.Duration{Duration: patience}}
}

// clinic is a fleet whose Proxies are replaced when they are unhealthy for long.
type clinic struct {
	*testing.T
	w    *world
	r    *Reconciler
	h    *prober
	keys []types.NamespacedName
}

func newClinic(t *testing.T, size int) *clinic {
	w := newWorld()
	c := &clinic{T: t, w: w, r: w.reconciler(), h: newProber(w)}
	c.r.Health = c.h
	for i := range size {
		key := w.add(fmt.Sprint("p", i), impatient)
		w.until(t, c.r, key, egress_v1alpha1.PhaseReady)
		c.keys = append(c.keys, key)
	}
	return c
}

// wait lets time pass, each Proxy being looked at when its last pass said, and returns
// the names of those that got another instance, in order.
func (c *clinic) wait(length time.Duration) (replaced []string) {
	c.Helper()
	creates := func() (names []string) {
		for _, call := range c.w.calls {
			if name, ok := strings.CutPrefix(call, "create px-uid-"); ok {
				names = append(names, name)
			}
		}
		return names
	}
	before := len(creates())
	due := map[types.NamespacedName]time.Time{}
	for end := c.w.now.Add(length); c.w.now.Before(end); c.w.now = c.w.now.Add(5 * time.Second) {
		for _, key := range c.keys {
			if !c.w.now.Before(due[key]) {
				due[key] = c.w.now.Add(c.w.once(c.T, c.r, key))
			}
		}
		c.w.turn()
	}
	return creates()[before:]
}

func (c *clinic) fail(names ...string) {
	for _, name := range names {
		c.h.turn(name, true)
	}
}

func (c *clinic) want(got []string, names ...string) {
	c.Helper()
	if fmt.Sprint(got) != fmt.Sprint(names) {
		c.Errorf("replaced %q, want %q", got, names)
	}
}

func TestAnInstanceThatIsUnhealthyForLongIsReplaced(t *testing.T) {
	c := newClinic(t, 3)
	c.fail("p1")
	c.want(c.wait(patience - time.Minute))
	p := c.w.proxies[c.keys[1]]
	if p.Status.Phase != egress_v1alpha1.PhaseUnhealthy {
		t.Fatal(describe(p))
	}
	for !lifecycle.Is(c.w.proxies[c.keys[1]], egress_v1alpha1.Draining) && !t.Failed() {
		c.want(c.wait(5 * time.Second))
	}
	drain := lifecycle.Condition(c.w.proxies[c.keys[1]], egress_v1alpha1.Draining)
	for _, part := range []string{"spec.lifecycle.replaceOnUnhealthyAfter", "30m0s", "ProbeFailed"} {
		if !strings.Contains(drain.Message, part) {
			t.Errorf("%s is not in %q", part, drain.Message)
		}
	}
	c.want(c.wait(5*time.Minute), "p1")
	if p := c.w.proxies[c.keys[1]]; p.Status.Phase != egress_v1alpha1.PhaseUnhealthy {
		t.Error(describe(p)) // the new one has its own time
	}
}

// TestOneThatRecoversIsKept: also when it has been let go already, but leases go on.
func TestOneThatRecoversIsKept(t *testing.T) {
	c := newClinic(t, 3)
	leases := &leasing{active: 1}
	c.r.Leases = leases
	c.fail("p1")
	for !lifecycle.Is(c.w.proxies[c.keys[1]], egress_v1alpha1.Draining) {
		c.want(c.wait(time.Minute))
	}
	c.h.turn("p1", false)
	c.want(c.wait(time.Hour))
	if p := c.w.proxies[c.keys[1]]; p.Status.Phase != egress_v1alpha1.PhaseReady || leases.kept != "" {
		t.Errorf("%s; kept off %q", describe(p), leases.kept)
	}
}

type leasing struct {
	active int
	kept   types.UID // off which new leases are kept
}

func (l *leasing) Drain(_ context.Context, uid types.UID) (int, error) {
	l.kept = uid
	return l.active, nil
}

func (l *leasing) Undrain(context.Context, types.UID) error {
	l.kept = ""
	return nil
}

// TestNoneIsReplacedForItsHealthWhileThatIsInDoubt: what is the matter with many would be
// the matter with their successors.
func TestNoneIsReplacedForItsHealthWhileThatIsInDoubt(t *testing.T) {
	c := newClinic(t, 3)
	c.fail("p0", "p1", "p2")
	c.h.doubtful = true
	c.want(c.wait(3 * patience))
	p := c.w.proxies[c.keys[0]]
	if message := lifecycle.Condition(p, egress_v1alpha1.Provisioned).Message; !strings.Contains(message, "none is replaced for that now") {
		t.Errorf("message %q", message)
	}
	writes := p.ResourceVersion
	c.want(c.wait(patience))
	if p := c.w.proxies[c.keys[0]]; p.ResourceVersion != writes {
		t.Error("it is written again and again:", describe(p))
	}
	c.h.doubtful = false
	if got := c.wait(patience); len(got) != 3 {
		t.Errorf("replaced %q once it is not in doubt", got)
	}
}

// TestAVerdictThatIsOldReplacesNone: it may have recovered while no process probed it.
func TestAVerdictThatIsOldReplacesNone(t *testing.T) {
	c := newClinic(t, 3)
	c.fail("p1")
	c.want(c.wait(time.Minute))
	c.w.now = c.w.now.Add(3 * patience) // in which there is no process
	c.h.unprobed = true
	writes := c.w.proxies[c.keys[1]].ResourceVersion
	c.want(c.wait(5 * time.Minute))
	if p := c.w.proxies[c.keys[1]]; p.ResourceVersion != writes {
		t.Error("it is written for that:", describe(p))
	}
	c.h.unprobed = false
	c.want(c.wait(time.Minute), "p1")
}

// TestTheSickAreReplacedWithinTheBudget: one after the other, in a fleet of six.
func TestTheSickAreReplacedWithinTheBudget(t *testing.T) {
	c := newClinic(t, 6)
	c.fail("p1", "p2", "p3")
	c.w.fault = func(call string, after bool) error {
		if id, ok := strings.CutPrefix(call, "delete "); ok && !after {
			down := 0
			for _, key := range c.keys {
				if live := c.w.live(c.w.proxies[key].UID); len(live) == 0 || live[0].State != provider.Running {
					down++
				}
			}
			if down > 0 {
				t.Errorf("%s goes while %d do not run", id, down)
			}
		}
		return nil
	}
	if got := c.wait(patience + 5*time.Minute); len(got) != 3 {
		t.Errorf("replaced %q", got)
	}
}

// TestATimeWithoutRunningIsNoTimeOfIllness: one that stood still has its time again.
func TestATimeWithoutRunningIsNoTimeOfIllness(t *testing.T) {
	c := newClinic(t, 2)
	c.fail("p0")
	c.want(c.wait(patience - 5*time.Minute))
	inst := c.w.live("uid-p0")[0]
	inst.State = provider.Provisioning // it boots again
	c.want(c.wait(patience - 5*time.Minute))
	if p := c.w.proxies[c.keys[0]]; p.Status.Phase != egress_v1alpha1.PhaseUnhealthy {
		t.Error(describe(p))
	}
}

// TestChaosOfHealth: whatever probes say when, and whenever the process dies, an instance
// is only replaced for its health when that has been bad for as long as its Proxy says,
// never in doubt, and no more at once than the budget allows.
func TestChaosOfHealth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const fleet, budget = 6, 2
		c := newChaos(t)
		c.calm = true
		for i := range fleet {
			c.w.add(fmt.Sprintf("p%d", i), onGCP, impatient, func(p *proxy) { p.Spec.Zone = "z1" })
		}
		c.settle(time.Minute)
		c.calm = false
		h := newProber(c.w)
		c.w.fault = func(call string, after bool) error {
			if id, ok := strings.CutPrefix(call, "delete "); ok && !after && c.w.instances[id] != nil && c.w.instances[id].State == provider.Running {
				name := strings.TrimPrefix(c.w.instances[id].UID, "uid-")
				if !h.fails[name] || h.doubtful || c.w.now.Sub(h.since[name]) < patience {
					c.Fatalf("%s is deleted: unhealthy %v for %s, in doubt %v", name, h.fails[name], c.w.now.Sub(h.since[name]), h.doubtful)
				}
				c.affordable(id, budget)
			}
			return c.fault(call, after)
		}
		for range rapid.IntRange(20, 200).Draw(t, "passes") {
			c.r.Health, c.r.MaxUnavailable = h, lifecycle.Budget{Number: budget}
			switch rapid.IntRange(0, 15).Draw(t, "event") {
			case 0, 1:
				name := c.any().Name
				h.turn(name, !h.fails[name])
			case 2:
				h.doubtful = !h.doubtful
			case 3:
				p := c.any()
				c.w.stale[keyOf(p)] = p.DeepCopy()
			case 4:
				clear(c.w.stale)
			case 5, 6, 7:
				c.w.turn()
				c.w.now = c.w.now.Add(rapid.SampledFrom(spans).Draw(t, "span"))
			default:
				_, _ = c.pass(keyOf(c.any()))
			}
		}
	})
}
