package reconcile

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// crash ends a process between two calls.
type crash struct{}

// chaos is a world in which everything happens: owners and strangers edit, instances
// stop, vanish and move, caches lag, answers are lost, providers lie about single
// instances, and the process dies between any two calls.
type chaos struct {
	*rapid.T
	w    *world
	r    *Reconciler
	made int
	// calm ends all faults, but not what they have left.
	calm bool
}

// faults are what happens to a call, if something does, which is seldom: what is found
// needs passes that come far.
var faults = []string{"fail", "lose", "crash", "crash after", "lie"}

func newChaos(t *rapid.T) *chaos {
	c := &chaos{T: t, w: newWorld()}
	c.w.secrets["auth"] = map[string][]byte{"username": []byte("u"), "password": []byte("password-0")}
	c.w.instances["z1/foreign"] = &instance{ID: "z1/foreign", Cluster: "c2", UID: "uid-p1", State: provider.Running}
	c.w.fault = c.fault
	c.r = c.w.reconciler()
	return c
}

func (c *chaos) fault(call string, after bool) error {
	c.oneLive()
	if c.calm {
		return nil
	}
	if rapid.IntRange(0, 9).Draw(c.T, call) > 0 {
		return nil
	}
	kind := rapid.SampledFrom(faults).Draw(c.T, "fault")
	switch {
	case kind == "crash" && !after, kind == "crash after" && after:
		panic(crash{})
	case kind == "fail" && !after, kind == "lose" && after:
		return c.refusal(call)
	case kind == "lie" && !after && strings.HasPrefix(call, "get "):
		return fmt.Errorf("it is not there: %w", provider.ErrNotFound)
	}
	return nil
}

// refusal is an error of the classes that a call may have.
func (c *chaos) refusal(call string) error {
	reads := []error{errors.New("503"), &provider.ThrottledError{After: time.Second}, fmt.Errorf("a: %w", provider.ErrPermanent)}
	switch verb, _, _ := strings.Cut(call, " "); verb {
	case "get", "ask":
		return rapid.SampledFrom(reads).Draw(c.T, "refusal")
	case "find":
		return rapid.SampledFrom(append(reads, &provider.PartialError{Scopes: []string{"z2"}, Err: errors.New("unreachable")})).Draw(c.T, "refusal")
	case "create", "delete":
		return rapid.SampledFrom([]error{errors.New("503"), fmt.Errorf("a: %w", provider.ErrQuotaExceeded), fmt.Errorf("b: %w", provider.ErrPermanent)}).Draw(c.T, "refusal")
	case "patch":
		return rapid.SampledFrom([]error{errors.New("503"), ErrConflict}).Draw(c.T, "refusal")
	}
	return errors.New("503")
}

// oneLive is the law that holds at every moment: a Proxy has one live instance at most,
// and nobody has touched what is not ours.
func (c *chaos) oneLive() {
	live := map[string][]string{}
	for id, inst := range c.w.instances {
		if inst.State != provider.Terminating {
			live[inst.Cluster+inst.UID] = append(live[inst.Cluster+inst.UID], id)
		}
	}
	for owner, ids := range live {
		if len(ids) > 1 {
			c.Fatalf("%s has %q", owner, ids)
		}
	}
	if inst := c.w.instances["z1/foreign"]; inst == nil || inst.State != provider.Running {
		c.Fatalf("the instance of another cluster was touched: %v", inst)
	}
}

// pass reconciles one Proxy. After a crash there is a new process, with a new cache.
func (c *chaos) pass(key types.NamespacedName) (result Result, err error) {
	defer func() {
		switch r := recover(); r.(type) {
		case nil:
		case crash:
			c.r, err = c.w.reconciler(), errors.New("crashed")
			clear(c.w.stale)
		default:
			panic(r)
		}
	}()
	return c.r.Reconcile(c.Context(), key)
}

func (c *chaos) keys() []types.NamespacedName {
	return slices.SortedFunc(maps.Keys(c.w.proxies), func(a, b types.NamespacedName) int { return strings.Compare(a.Name, b.Name) })
}

func (c *chaos) any() *proxy {
	keys := c.keys()
	return c.w.proxies[rapid.SampledFrom(keys).Draw(c.T, "proxy")]
}

// instance is one of ours.
func (c *chaos) instance() *instance {
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(c.w.instances)), func(id string) bool { return id == "z1/foreign" })
	if len(ids) == 0 {
		return &instance{}
	}
	return c.w.instances[rapid.SampledFrom(ids).Draw(c.T, "instance")]
}

// happen lets things happen, the ordinary ones half of the time.
func (c *chaos) happen() {
	events := c.events()
	names := slices.Sorted(maps.Keys(events))
	for range rapid.IntRange(1, 150).Draw(c.T, "events") {
		name := rapid.SampledFrom([]string{"reconcile", "reconcile", "reconcile", "turn", "time", ""}).Draw(c.T, "ordinary")
		if name == "" {
			name = rapid.SampledFrom(names).Draw(c.T, "event")
		}
		if len(c.w.proxies) > 0 || name == "add" {
			events[name](c.T)
		}
	}
}

// events are what may happen, by name.
func (c *chaos) events() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"reconcile": func(*rapid.T) { _, _ = c.pass(keyOf(c.any())) },
		"turn":      func(*rapid.T) { c.w.turn() },
		"time":      func(t *rapid.T) { c.w.now = c.w.now.Add(rapid.SampledFrom(spans).Draw(t, "span")) },
		"add": func(t *rapid.T) {
			if len(c.w.proxies) < 3 {
				c.made++
				c.w.add(fmt.Sprintf("p%d", c.made), onGCP, func(p *proxy) { p.Spec.Zone = zone(t) })
			}
		},
		"delete": func(*rapid.T) {
			if p := c.any(); p.DeletionTimestamp == nil {
				c.w.remove(keyOf(p))
			}
		},
		"edit the zone":     func(t *rapid.T) { c.w.edit(keyOf(c.any()), func(p *proxy) { p.Spec.Zone = zone(t) }) },
		"change a password": func(t *rapid.T) { c.w.secrets["auth"]["password"] = []byte("password-" + zone(t)) },
		"clear the ID":      func(*rapid.T) { c.w.edit(keyOf(c.any()), func(p *proxy) { p.Status.ProviderID = "" }) },
		"clear the status": func(*rapid.T) {
			c.w.edit(keyOf(c.any()), func(p *proxy) { p.Status = egress_v1alpha1.ProxyStatus{} })
		},
		"clear annotations": func(*rapid.T) { c.w.edit(keyOf(c.any()), func(p *proxy) { p.Annotations = nil }) },
		"ask for a retry":   func(*rapid.T) { c.retry(keyOf(c.any())) },
		"an instance stops": func(*rapid.T) { c.instance().State = provider.Stopped },
		"an instance goes":  func(*rapid.T) { delete(c.w.instances, c.instance().ID) },
		"an instance moves": func(*rapid.T) { c.instance().IP = netip.MustParseAddr("10.9.9.9") },
		"a cache lags": func(*rapid.T) {
			p := c.any()
			c.w.stale[keyOf(p)] = p.DeepCopy()
		},
		"caches catch up": func(*rapid.T) { clear(c.w.stale) },
	}
}

var spans = []time.Duration{time.Second, 10 * time.Second, 2 * time.Minute, 20 * time.Minute}

func zone(t *rapid.T) string { return rapid.SampledFrom([]string{"z1", "z2", "z3"}).Draw(t, "zone") }

func onGCP(p *proxy) {
	p.Spec.Provider = "gcp"
	p.Spec.CloudInit = &egress_v1alpha1.CloudInit{Inline: "#!/bin/true"}
	p.Spec.Auth = &egress_v1alpha1.Auth{SecretRef: egress_v1alpha1.LocalRef{Name: "auth"}}
}

func (c *chaos) retry(key types.NamespacedName) {
	c.w.edit(key, func(p *proxy) {
		annotations := maps.Clone(p.Annotations)
		if annotations == nil {
			annotations = map[string]string{}
		}
		c.made++
		annotations[egress_v1alpha1.RetryAnnotation] = fmt.Sprint(c.made)
		p.Annotations = annotations
	})
}

// settle ends the faults and lets time pass.
func (c *chaos) settle(length time.Duration) {
	c.calm = true
	clear(c.w.stale)
	for _, key := range c.keys() {
		c.retry(key)
	}
	due := map[string]time.Time{}
	for end := c.w.now.Add(length); c.w.now.Before(end); c.w.now = c.w.now.Add(10 * time.Second) {
		for _, key := range c.keys() {
			if !c.w.now.Before(due[key.Name]) {
				result, err := c.pass(key)
				due[key.Name] = c.w.now.Add(again(result, err))
			}
		}
		c.w.turn()
	}
}

// settled is what holds once nothing happens any more.
func (c *chaos) settled() {
	for _, key := range c.keys() {
		p := c.w.proxies[key]
		if p.DeletionTimestamp != nil || p.Status.Phase != egress_v1alpha1.PhaseProvisioned {
			c.Fatalf("%s: %s", key, describe(p))
		}
		live := c.w.live(p.UID)
		if len(live) != 1 || live[0].ID != p.Status.ProviderID || live[0].IP.String() != p.Status.IP || live[0].zone != p.Spec.Zone {
			c.Fatalf("%s: live %v\n%s", key, live, describe(p))
		}
		if made := p.Annotations[egress_v1alpha1.SpecHashAnnotation]; provider.LabelHash(made) != live[0].Hash {
			c.Fatalf("%s: annotated %s, made from %s", key, made, live[0].Hash)
		}
		c.w.calls = nil
		if _, err := c.pass(key); err != nil || !slices.Equal(c.w.calls, []string{"proxy", "secret", "get " + p.Status.ProviderID}) {
			c.Fatalf("an idle pass made %q, %v", c.w.calls, err)
		}
	}
	for id, inst := range c.w.instances {
		if inst.Cluster == "c1" && !slices.ContainsFunc(c.keys(), func(key types.NamespacedName) bool { return string(c.w.proxies[key].UID) == inst.UID }) {
			c.Fatalf("%s is nobody's", id)
		}
	}
}

// TestChaos: whatever happens in whatever order, no Proxy ever has two live instances;
// and once it stops happening, each has one, which is what its spec says, nothing is
// left of those that were deleted, and a pass writes nothing.
func TestChaos(t *testing.T) {
	for range 2 {
		rapid.Check(t, func(t *rapid.T) {
			c := newChaos(t)
			c.w.add("p0", onGCP, func(p *proxy) { p.Spec.Zone = "z1" })
			c.happen()
			c.settle(30 * time.Minute)
			c.settled()
		})
	}
}

// TestNoDeletionIsStuckInSilence: while the provider fails for whatever reason, each
// Proxy that is to go says so, and what keeps it, within half an hour.
func TestNoDeletionIsStuckInSilence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newChaos(t)
		c.w.add("p0", onGCP, func(p *proxy) { p.Spec.Zone = "z1" })
		c.happen()
		c.settle(30 * time.Minute)
		for _, key := range c.keys() {
			c.w.remove(key)
		}
		verb := rapid.SampledFrom([]string{"get", "delete", "find"}).Draw(t, "verb")
		broken := rapid.SampledFrom([]error{errors.New("503"), fmt.Errorf("no: %w", provider.ErrPermanent)}).Draw(t, "error")
		c.w.fault = func(call string, _ bool) error {
			if strings.HasPrefix(call, verb) {
				return broken
			}
			return nil
		}
		c.settle(30 * time.Minute)
		for _, key := range c.keys() {
			if p := c.w.proxies[key]; !lifecycle.Is(p, egress_v1alpha1.DeletionBlocked) {
				t.Fatalf("%s: %s", key, describe(p))
			}
		}
	})
}
