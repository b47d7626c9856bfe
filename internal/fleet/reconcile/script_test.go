package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/pkg/golden"
)

// TestStories runs the scripts of testdata. After its prose, each file has a script and
// what it shows: after each pass the calls that it made, when it wants to look again,
// and the status where that changed. The commands are the methods of story.
func TestStories(t *testing.T) {
	golden.Each(t, "testdata/*.txtar", func(t *testing.T, f *golden.File) {
		for _, name := range f.Names("story/") {
			s := &story{t: t, w: newWorld(), shown: map[types.NamespacedName]string{}, active: map[types.UID]int{}, copies: map[types.NamespacedName]*proxy{}}
			s.restart()
			for line := range strings.Lines(string(f.Input(name))) {
				s.line(strings.TrimSpace(line))
			}
			f.Check("shows/"+strings.TrimPrefix(name, "story/"), []byte(s.out.String()))
		}
	})
}

// story is one script under way.
type story struct {
	t      *testing.T
	w      *world
	r      *Reconciler
	out    strings.Builder
	shown  map[types.NamespacedName]string
	faults []*fault
	active map[types.UID]int
	copies map[types.NamespacedName]*proxy
}

// fault makes the next call that begins so fail, or all of them.
type fault struct {
	call        string
	after, once bool
	err         error
}

func (s *story) line(line string) {
	if line == "" || line[0] == '#' {
		fmt.Fprintln(&s.out, line)
		return
	}
	fmt.Fprintf(&s.out, "> %s\n", line)
	command, rest, _ := strings.Cut(line, " ")
	words := strings.Fields(rest)
	do := map[string]func(words []string){
		"proxy": s.proxy, "edit": s.edit, "status": s.status, "annotate": s.annotate, "delete": s.delete,
		"secret": s.secret, "pass": s.pass, "run": s.run, "turn": s.turn, "clock": s.clock, "instance": s.instance,
		"fail": s.fail, "heal": s.heal, "restart": func([]string) { s.restart() }, "leases": s.leases,
		"budget": s.budget, "providers": s.providers, "outcome": s.outcome, "instances": s.instances,
		"remember": s.remember, "stale": s.stale, "catchup": func([]string) { clear(s.w.stale) },
	}[command]
	if do == nil {
		s.t.Fatalf("no command %q", line)
	}
	do(words)
}

// restart is a new process over what is stored.
func (s *story) restart() {
	old := s.r
	s.r = s.w.reconciler()
	s.r.Leases = s
	if old != nil {
		s.r.MaxUnavailable, s.r.Providers = old.MaxUnavailable, old.Providers
	}
	s.w.fault = s.fault
}

func (s *story) Drain(_ context.Context, uid types.UID) (int, error) {
	if s.active[uid] == unknownActive {
		return 0, errors.New("the store does not answer")
	}
	return s.active[uid], nil
}

func (s *story) Undrain(context.Context, types.UID) error { return nil }

// unknownActive says that nobody knows how many leases are active.
const unknownActive = -1

type key = types.NamespacedName

func (s *story) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "crawl", Name: name}
}

// proxy NAME [field=value…] creates a Proxy.
func (s *story) proxy(words []string) { s.w.add(words[0], fields(s.t, words[1:])) }

// edit NAME field=value… changes its spec.
func (s *story) edit(words []string) { s.w.edit(s.key(words[0]), fields(s.t, words[1:])) }

func fields(t *testing.T, words []string) func(*proxy) {
	return func(p *proxy) {
		for _, word := range words {
			name, value, _ := strings.Cut(word, "=")
			set(t, p, name, value)
		}
	}
}

func set(t *testing.T, p *proxy, name, value string) {
	spec := &p.Spec
	if spec.Lifecycle == nil {
		spec.Lifecycle = &egress_v1alpha1.Lifecycle{}
	}
	switch name {
	case "provider":
		spec.Provider = value
	case "zone":
		spec.Zone = value
	case "machineType":
		spec.MachineType = value
	case "port":
		n, _ := strconv.Atoi(value)
		spec.Endpoint = &egress_v1alpha1.Endpoint{Port: int32(n)} //nolint:gosec // of a test
	case "host":
		*spec = egress_v1alpha1.ProxySpec{Mode: egress_v1alpha1.External, Endpoint: &egress_v1alpha1.Endpoint{Host: value}}
	case "auth":
		spec.Auth = &egress_v1alpha1.Auth{SecretRef: egress_v1alpha1.LocalRef{Name: value}}
	case "config":
		spec.ProviderConfigRef = &egress_v1alpha1.LocalRef{Name: value}
	case "cloudInit":
		spec.CloudInit = &egress_v1alpha1.CloudInit{SecretRef: &egress_v1alpha1.SecretKeyRef{Name: value}}
	case "inline":
		spec.CloudInit = &egress_v1alpha1.CloudInit{Inline: value}
	case "maxAge":
		spec.Lifecycle.MaxAge = length(t, value)
	case "drainTimeout":
		spec.Lifecycle.DrainTimeout = length(t, value)
	case "provisioningTimeout":
		spec.Lifecycle.ProvisioningTimeout = length(t, value)
	default:
		t.Fatalf("no field %q", name)
	}
}

func length(t *testing.T, text string) *meta_v1.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return &meta_v1.Duration{Duration: d}
}

// remember NAME takes a copy, and stale NAME lets the cache show that, until catchup.
func (s *story) remember(words []string) {
	s.copies[s.key(words[0])] = s.w.proxies[s.key(words[0])].DeepCopy()
}

func (s *story) stale(words []string) { s.w.stale[s.key(words[0])] = s.copies[s.key(words[0])] }

// status NAME field=value… edits the status as an outsider would.
func (s *story) status(words []string) {
	s.w.edit(s.key(words[0]), func(p *proxy) {
		for _, word := range words[1:] {
			switch name, value, _ := strings.Cut(word, "="); name {
			case "providerID":
				p.Status.ProviderID = value
			case "all":
				p.Status = egress_v1alpha1.ProxyStatus{}
			default:
				s.t.Fatalf("no field %q of status", name)
			}
		}
	})
}

// annotate NAME key=value sets an annotation of the group; without a value it goes.
func (s *story) annotate(words []string) {
	s.w.edit(s.key(words[0]), func(p *proxy) {
		key, value, _ := strings.Cut(words[1], "=")
		p.Annotations = maps.Clone(p.Annotations)
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations[egress_v1alpha1.Group+"/"+key] = value
		if value == "" {
			delete(p.Annotations, egress_v1alpha1.Group+"/"+key)
		}
	})
}

// delete NAME asks for its end.
func (s *story) delete(words []string) { s.w.remove(s.key(words[0])) }

// secret NAME [key=value…] writes a Secret; without keys it goes.
func (s *story) secret(words []string) {
	delete(s.w.secrets, words[0])
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		if s.w.secrets[words[0]] == nil {
			s.w.secrets[words[0]] = map[string][]byte{}
		}
		s.w.secrets[words[0]][key] = []byte(value)
	}
}

// turn lets accepted instances run and deleted ones go; clock D lets time pass.
func (s *story) turn([]string) { s.w.turn() }

func (s *story) clock(words []string) { s.w.now = s.w.now.Add(length(s.t, words[0]).Duration) }

// instance ID state [ip=ADDRESS] changes one as its provider would.
func (s *story) instance(words []string) {
	id, state := words[0], words[1]
	if state == "gone" {
		delete(s.w.instances, id)
		return
	}
	inst := s.w.instances[id]
	if inst == nil {
		s.t.Fatalf("no instance %q", id)
	}
	states := map[string]provider.State{"provisioning": provider.Provisioning, "running": provider.Running, "stopped": provider.Stopped, "terminating": provider.Terminating}
	inst.State = states[state]
	for _, word := range words[2:] {
		if ip, ok := strings.CutPrefix(word, "ip="); ok {
			inst.IP = netip.MustParseAddr(ip)
		}
	}
}

// instances shows what there is.
func (s *story) instances([]string) {
	for _, id := range slices.Sorted(maps.Keys(s.w.instances)) {
		inst := s.w.instances[id]
		fmt.Fprintf(&s.out, "  %s %s hash %.6s\n", id, state(inst.State), inst.Hash)
	}
}

func state(s provider.State) string {
	return [...]string{"?", "provisioning", "running", "stopped", "terminating"}[s]
}

// fail [once] [after] CLASS CALL… makes calls that begin so fail, though carried out
// with after. heal ends all failures.
func (s *story) fail(words []string) {
	f := &fault{}
	for ; words[0] == "once" || words[0] == "after"; words = words[1:] {
		f.once, f.after = f.once || words[0] == "once", f.after || words[0] == "after"
	}
	f.err = failure(words[0])
	f.call = strings.Join(words[1:], " ")
	s.faults = append(s.faults, f)
}

func failure(class string) error {
	switch class {
	case "notfound":
		return fmt.Errorf("the API says 404: %w", provider.ErrNotFound)
	case "quota":
		return fmt.Errorf("%w: 8 of 8 addresses", provider.ErrQuotaExceeded)
	case "permanent":
		return fmt.Errorf("%w: no such machine type", provider.ErrPermanent)
	case "throttled":
		return &provider.ThrottledError{After: 7 * time.Second}
	case "partial":
		return &provider.PartialError{Scopes: []string{"zones/b"}, Err: errors.New("unreachable")}
	case "conflict":
		return ErrConflict
	case "refused-connection":
		return errors.New("dial tcp 10.0.0.1:40112->10.0.0.2:443: connection refused")
	case "leaky":
		return fmt.Errorf("%w: metadata user-data: unexpected\n  password: hunter22, username: u", provider.ErrPermanent)
	}
	return errors.New("the API says 503")
}

func (s *story) heal([]string) { s.faults = nil }

func (s *story) fault(call string, after bool) error {
	for i, f := range s.faults {
		if f.after == after && strings.HasPrefix(call, f.call) {
			if f.once {
				s.faults = slices.Delete(s.faults, i, i+1)
			}
			return f.err
		}
	}
	return nil
}

// outcome NAME CLASS says what became of the create for a Proxy.
func (s *story) outcome(words []string) {
	s.w.outcomes["op-uid-"+words[0]] = failure(words[1])
}

// leases NAME N are in use; -1 are not known.
func (s *story) leases(words []string) {
	s.active[types.UID("uid-"+words[0])], _ = strconv.Atoi(words[1])
}

// budget TEXT is --max-unavailable; providers NAME… are --providers.
func (s *story) budget(words []string) {
	s.r.MaxUnavailable, _ = lifecycle.ParseBudget(words[0])
}

func (s *story) providers(words []string) {
	s.r.Providers = map[string]provider.Provider{}
	for _, name := range words {
		s.r.Providers[name] = cloud{s.w}
	}
}
