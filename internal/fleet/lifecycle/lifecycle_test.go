package lifecycle

import (
	"strings"
	"testing"
	"time"

	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/cloudinit"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

func proxy(edit ...func(*egress_v1alpha1.Proxy)) *egress_v1alpha1.Proxy {
	p := &egress_v1alpha1.Proxy{
		Namespace: "crawl", Name: "a", UID: "1", Generation: 1,
		Spec: egress_v1alpha1.ProxySpec{Mode: egress_v1alpha1.Managed, Provider: "process"},
	}
	for _, e := range edit {
		e(p)
	}
	return p
}

func TestBackoffDoublesUpToFiveMinutes(t *testing.T) {
	want := []time.Duration{0, 5, 10, 20, 40, 80, 160, 300, 300}
	for attempts, seconds := range want {
		if got := Backoff(int32(attempts)); got != seconds*time.Second {
			t.Errorf("after %d attempts %s, want %d s", attempts, got, seconds)
		}
	}
	if got := Backoff(1 << 30); got != 5*time.Minute {
		t.Errorf("after very many attempts %s", got)
	}
}

// TestPhase is the table of computePhase: conditions, as TYPE, TYPE=REASON if it is
// true, or !TYPE=REASON if it is false.
func TestPhase(t *testing.T) {
	for _, c := range []struct {
		conditions string
		deleted    bool
		id         string
		want       egress_v1alpha1.Phase
	}{
		{"", false, "", egress_v1alpha1.PhasePending},
		{"!Provisioned=Provisioning", false, "i", egress_v1alpha1.PhaseProvisioning},
		{"!Provisioned=Provisioning", false, "", egress_v1alpha1.PhaseProvisioning},
		{"!Provisioned=ProvisioningTimeout", false, "i", egress_v1alpha1.PhaseProvisioning},
		{"!Provisioned=QuotaExceeded", false, "", egress_v1alpha1.PhasePending},
		{"!Provisioned=TransientError", false, "", egress_v1alpha1.PhasePending},
		{"!Provisioned=CloudInitError", false, "", egress_v1alpha1.PhasePending},
		{"!Provisioned=CloudInitError", false, "i", egress_v1alpha1.PhaseProvisioning},
		{"!Provisioned=PermanentError", false, "", egress_v1alpha1.PhaseFailed},
		{"!Provisioned=Replacing", false, "i", egress_v1alpha1.PhaseReplacing},
		{"Provisioned=Created", false, "i", egress_v1alpha1.PhaseProvisioned},
		{"Provisioned=Created Healthy=ProbeOK", false, "i", egress_v1alpha1.PhaseReady},
		{"Provisioned=Created !Healthy=AuthFailed", false, "i", egress_v1alpha1.PhaseUnhealthy},
		{"Provisioned=WaitingForBudget Healthy=ProbeOK", false, "i", egress_v1alpha1.PhaseReady},
		{"Provisioned=ExternalEndpoint Healthy=ProbeOK", false, "", egress_v1alpha1.PhaseReady},
		// That it goes wins over a good probe.
		{"Provisioned=Created Healthy=ProbeOK Draining=Replacing", false, "i", egress_v1alpha1.PhaseReplacing},
		{"!Provisioned=Replacing Healthy=ProbeOK", false, "i", egress_v1alpha1.PhaseReplacing},
		{"Provisioned=Created Healthy=ProbeOK", true, "i", egress_v1alpha1.PhaseDeleting},
	} {
		p := proxy()
		p.Status.ProviderID = c.id
		for word := range strings.FieldsSeq(c.conditions) {
			kind, reason, _ := strings.Cut(word, "=")
			status := meta_v1.ConditionTrue
			if strings.HasPrefix(kind, "!") {
				kind, status = kind[1:], meta_v1.ConditionFalse
			}
			draft{p: p}.condition(kind, status, reason, "")
		}
		if c.deleted {
			p.DeletionTimestamp = new(meta_v1.Now())
		}
		if got := ComputePhase(p); got != c.want {
			t.Errorf("%s, deleted %v, instance %q: %s, want %s", c.conditions, c.deleted, c.id, got, c.want)
		}
	}
}

func TestCredentialsThatCannotBeUsed(t *testing.T) {
	key := strings.Repeat("k", 32)
	for _, c := range []struct{ secret, wrong string }{
		{"username=u password=p", ""},
		{"lease-key=" + key, ""},
		{"username=u password=p lease-key=" + key, ""},
		{"other=x", `key "username": is missing or empty`},
		{"username=u", `key "password": username and password come together`},
		{"password=p lease-key=" + key, `key "password": username and password come together`},
		{"username=u:v password=p", `key "username": is longer than 255 bytes or has a colon`},
		{"username=u%0A password=p", `key "username": is longer than 255 bytes or has a colon, line break`},
		{"username=u password=p%0A", `key "password": is longer than 255 bytes or has a line break`},
		{"username=u password=" + strings.Repeat("p", 256), `key "password": is longer than 255 bytes`},
		{"username=u password=p lease-key=short", `key "lease-key": has 5 bytes, needs 32`},
		{"username=u password=p tls.crt=x", `key "tls.crt": tls.crt and tls.key come together`},
	} {
		p := proxy(func(p *egress_v1alpha1.Proxy) {
			p.Spec.Auth = &egress_v1alpha1.Auth{SecretRef: egress_v1alpha1.LocalRef{Name: "auth"}}
			p.Spec.Endpoint = &egress_v1alpha1.Endpoint{Scheme: egress_v1alpha1.HTTPS}
		})
		in := Resolve(p, "c1", map[string]*core_v1.Secret{"auth": secret(c.secret)}, cloudinit.Forward{})
		switch {
		case c.wrong == "" && in.Err != nil, c.wrong != "" && (in.Err == nil || !strings.Contains(in.Err.Error(), c.wrong)):
			t.Errorf("%s: error %v, want %q", c.secret, in.Err, c.wrong)
		case in.Err != nil && !definite(in.Err):
			t.Errorf("%s: %v is taken for a failure to read", c.secret, in.Err)
		}
	}
}

func secret(words string) *core_v1.Secret {
	s := &core_v1.Secret{Data: map[string][]byte{}}
	for word := range strings.FieldsSeq(words) {
		key, value, _ := strings.Cut(word, "=")
		s.Data[key] = []byte(strings.ReplaceAll(value, "%0A", "\n"))
	}
	return s
}

// TestWhatAnInstanceIsAskedFor: defaults are filled in, and what is given is kept.
func TestWhatAnInstanceIsAskedFor(t *testing.T) {
	r := request(proxy(), "c1")
	if r.Name != "px-1" || r.Cluster != "c1" || r.UID != "1" || r.Port != 3128 || r.Scheme != "http" || !r.ExternalIP {
		t.Errorf("defaults %+v", r)
	}
	r = request(proxy(func(p *egress_v1alpha1.Proxy) {
		p.Spec.Endpoint = &egress_v1alpha1.Endpoint{Port: 1080, Scheme: egress_v1alpha1.SOCKS5}
		p.Spec.Network = &egress_v1alpha1.Network{Network: "n", ExternalIP: new(false)}
	}), "c1")
	if r.Port != 1080 || r.Scheme != "socks5" || r.Network != "n" || r.ExternalIP {
		t.Errorf("given %+v", r)
	}
}

func TestUserDataIsRenderedOnlyWhereAnInstanceBoots(t *testing.T) {
	forward := cloudinit.Forward{URL: "https://example.com/gatehouse-forward", SHA256: strings.Repeat("a", 64)}
	secrets := map[string]*core_v1.Secret{"auth": secret("username=u password=p")}
	for name, want := range map[string]bool{"gcp": true, "hetzner": true, "kubernetes": false, "process": false} {
		p := proxy(func(p *egress_v1alpha1.Proxy) {
			p.Spec.Provider = name
			p.Spec.Auth = &egress_v1alpha1.Auth{SecretRef: egress_v1alpha1.LocalRef{Name: "auth"}}
		})
		in := Resolve(p, "c1", secrets, forward)
		if in.Err != nil || (len(in.Request.UserData) > 0) != want {
			t.Errorf("%s: %d bytes, %v", name, len(in.Request.UserData), in.Err)
		}
	}
}

func TestBudgetsAreReadAndWritten(t *testing.T) {
	for text, want := range map[string]string{"3": "3", "25%": "25%", "100%": "100%"} {
		if b, err := ParseBudget(text); err != nil || b.String() != want {
			t.Errorf("%q is %v, %v", text, b, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "0%", "101%", "ten", "1.5"} {
		if b, err := ParseBudget(text); err == nil {
			t.Errorf("%q is %v", text, b)
		}
	}
}

// TestHealthIsSaidOnceItChanges: a verdict that repeats itself changes nothing.
func TestHealthIsSaidOnceItChanges(t *testing.T) {
	p, now := proxy(), time.Unix(1_800_000_000, 0)
	v := Verdict{Healthy: true, Reason: egress_v1alpha1.ReasonProbeOK, LatencyMillis: 20, At: now}
	ApplyHealth(p, v, now)
	before := p.DeepCopy()
	ApplyHealth(p, v, now.Add(time.Minute))
	if c, old := Condition(p, egress_v1alpha1.Healthy), Condition(before, egress_v1alpha1.Healthy); *c != *old || p.Status.LatencyMillis != 20 {
		t.Errorf("%+v, before %+v", c, old)
	}
}

// TestTheSameStateGivesTheSameAction: deciding changes nothing that it was given.
func TestTheSameStateGivesTheSameAction(t *testing.T) {
	p := proxy(func(p *egress_v1alpha1.Proxy) { p.Finalizers = []string{egress_v1alpha1.InstanceFinalizer} })
	s := &State{Proxy: p, Fresh: true, Now: time.Unix(1_800_000_000, 0), Providers: []string{"process"}}
	s.Inputs = Resolve(p, "c1", nil, cloudinit.Forward{})
	s.Found, s.Created = &Found{}, &Answer{Err: provider.ErrQuotaExceeded}
	before := p.DeepCopy()
	first, second := Next(s), Next(s)
	if first.Do != second.Do || first.After != second.After || first.Proxy.Status.Phase != second.Proxy.Status.Phase {
		t.Errorf("%v, then %v", first, second)
	}
	if p.Status.LastError != nil || len(p.Status.Conditions) != len(before.Status.Conditions) {
		t.Errorf("the object was changed: %+v", p.Status)
	}
}

// TestAClockThatWasAhead: a time that is still to come holds up no create.
func TestAClockThatWasAhead(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for name, c := range map[string]struct {
		since time.Time
		want  time.Duration
	}{
		"just now":      {now, 10 * time.Second},
		"lately":        {now.Add(-4 * time.Second), 6 * time.Second},
		"in three days": {now.Add(72 * time.Hour), 0},
	} {
		p := proxy()
		draft{p: p}.waiting(egress_v1alpha1.ReasonProvisioning, "")
		p.Status.Attempts, p.Status.InstanceCreatedAt = 2, new(meta_v1.NewTime(c.since))
		if got := held(p, now); got != c.want {
			t.Errorf("after a create of %s it is held for %s, want %s", name, got, c.want)
		}
		draft{p: p}.waiting(egress_v1alpha1.ReasonQuotaExceeded, "")
		p.Status.LastError = &egress_v1alpha1.LastError{Time: meta_v1.NewTime(c.since)}
		if got := held(p, now); (got > 0) != (c.want > 0) || got > QuotaRetry {
			t.Errorf("after a quota of %s it is held for %s", name, got)
		}
	}
}
