package reconcile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// TestChaosKeepsTheBudget: when one Secret changes what every instance is made from,
// again and again, no more instances are gone at once than the budget allows, whatever
// is lost on the way, however late caches are, and whenever the process dies. In the end
// all are replaced.
func TestChaosKeepsTheBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const fleet, budget = 6, 2
		c := newChaos(t)
		c.calm = true
		for i := range fleet {
			c.w.add(fmt.Sprintf("p%d", i), onGCP, func(p *proxy) { p.Spec.Zone = "z1" })
		}
		c.settle(time.Minute)
		c.calm = false
		c.r.MaxUnavailable = lifecycle.Budget{Number: budget}
		c.w.fault = func(call string, after bool) error {
			if id, ok := strings.CutPrefix(call, "delete "); ok && !after {
				c.affordable(id, budget)
			}
			return c.fault(call, after)
		}
		for range rapid.IntRange(20, 200).Draw(t, "passes") {
			switch rapid.IntRange(0, 15).Draw(t, "event") {
			case 0:
				c.w.secrets["auth"]["password"] = []byte("password-" + zone(t))
			case 1:
				p := c.any()
				c.w.stale[keyOf(p)] = p.DeepCopy()
			case 2:
				clear(c.w.stale)
			case 3, 4, 5:
				c.w.turn()
				c.w.now = c.w.now.Add(spans[0])
			default:
				_, _ = c.pass(keyOf(c.any()))
				c.r.MaxUnavailable = lifecycle.Budget{Number: budget}
			}
		}
		c.settle(10 * time.Minute)
		c.settled()
	})
}

// affordable fails if the deletion of a running instance takes away one too many.
func (c *chaos) affordable(id string, budget int) {
	if inst := c.w.instances[id]; inst == nil || inst.State != provider.Running {
		return
	}
	down := 1
	for _, p := range c.w.proxies {
		if live := c.w.live(p.UID); len(live) == 0 || live[0].State != provider.Running {
			down++
		}
	}
	if down > budget {
		c.Fatalf("%d instances would be gone at once, with %s", down, id)
	}
}

// TestBudget is a table of fleets: a letter is a Proxy, the first is the one that asks.
// R runs, U runs and is unhealthy, p does not run yet, F was refused for good, D drains,
// d is being deleted, e is somebody else's, r runs but was let go a moment ago.
func TestBudget(t *testing.T) {
	for _, c := range []struct {
		fleet, budget string
		grants        bool
		why           string
	}{
		{"R", "10%", true, "one is always allowed"},
		{"RR", "10%", true, "one of two"},
		{"RRp", "10%", false, "one is away already"},
		{"RRF", "10%", false, "what was refused is away too: a broken change stops itself"},
		{"RRD", "10%", false, "one is about to go"},
		{"RRr", "10%", false, "one was let go, and the cache does not know"},
		{"RRd", "10%", true, "what is deleted belongs to no fleet"},
		{"RRe", "10%", true, "somebody else's neither"},
		{"RRU", "10%", false, "what is unhealthy serves nobody"},
		{"URU", "10%", true, "but does not keep others like it from being mended"},
		{"URp", "10%", false, "which has its limit too"},
		{"RRRRRRRRRRRRRRRRRRRp", "10%", true, "two of twenty"},
		{"RRRRRRRRRRRRRRRRRRRp", "5%", false, "one of twenty"},
		{"RRpppp", "5", true, "five by number"},
		{"RRppppp", "5", false, "not six"},
	} {
		t.Run(c.fleet+" "+c.budget, func(t *testing.T) {
			all, released := fleetOf(c.fleet)
			budget, err := lifecycle.ParseBudget(c.budget)
			if err != nil {
				t.Fatal(err)
			}
			if got := budget.Grants(all[0], all, released); got != c.grants {
				t.Errorf("grants %v, want %v: %s", got, c.grants, c.why)
			}
		})
	}
}

func fleetOf(letters string) (all []*proxy, released map[key]bool) {
	w := newWorld()
	released = map[key]bool{}
	for i, letter := range letters {
		k := w.add(fmt.Sprint("p", i))
		p := w.proxies[k]
		phaseOf(p, letter)
		released[k] = letter == 'r'
		all = append(all, p)
	}
	return all, released
}

func phaseOf(p *proxy, letter rune) {
	condition(p, egress_v1alpha1.Provisioned, strings.ContainsRune("RUDdre", letter))
	switch letter {
	case 'U':
		condition(p, egress_v1alpha1.Healthy, false)
	case 'D':
		condition(p, egress_v1alpha1.Draining, true)
	case 'd':
		p.DeletionTimestamp = &p.CreationTimestamp
	case 'e':
		p.Spec.Mode = egress_v1alpha1.External
	}
}
