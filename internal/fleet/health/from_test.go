package health

import (
	"container/heap"
	"net/netip"
	"strings"
	"testing"
	"time"

	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
)

// running is a managed Proxy whose instance runs.
func running(edit ...func(*egress_v1alpha1.Proxy)) *egress_v1alpha1.Proxy {
	p := &egress_v1alpha1.Proxy{
		Namespace: "crawl", Name: "a", UID: "1",
		Spec:   egress_v1alpha1.ProxySpec{Mode: egress_v1alpha1.Managed, Provider: "process"},
		Status: egress_v1alpha1.ProxyStatus{ProviderID: "i-1", IP: "192.0.2.1"},
	}
	set(p, egress_v1alpha1.Provisioned, meta_v1.ConditionTrue)
	for _, e := range edit {
		e(p)
	}
	return p
}

func set(p *egress_v1alpha1.Proxy, kind string, status meta_v1.ConditionStatus) {
	p.Status.Conditions = append(p.Status.Conditions, meta_v1.Condition{Type: kind, Status: status})
}

func external(host string) func(*egress_v1alpha1.Proxy) {
	return func(p *egress_v1alpha1.Proxy) {
		p.Spec.Mode, p.Spec.Provider, p.Status.ProviderID, p.Status.IP = egress_v1alpha1.External, "", "", host
		p.Spec.Endpoint = &egress_v1alpha1.Endpoint{Host: host, Port: 1080, Scheme: egress_v1alpha1.SOCKS5}
	}
}

func from(p *egress_v1alpha1.Proxy, secret *core_v1.Secret) (Proxy, bool) {
	return FromProxy(p, offer.Of(p, secret), nil, "https://default.example/")
}

func TestWhatIsProbedByDefault(t *testing.T) {
	got, ok := from(running(), nil)
	want := Check{URL: "https://default.example/", Interval: 30 * time.Second, Timeout: 5 * time.Second, SuccessThreshold: 2, FailureThreshold: 3}
	if !ok || !got.Check.equal(want) || got.Key != "crawl/a" || got.UID != "1" || got.Scheme != "http" || got.Host != "192.0.2.1" || got.Port != 3128 {
		t.Errorf("%+v, %v", got, ok)
	}
	if got.Login != nil || got.TLS.CA != nil || got.Known != nil || got.Egress.IsValid() {
		t.Errorf("%+v", got)
	}
}

// TestAShortIntervalHasAShortTimeout, so that no probe outlasts its turn.
func TestAShortIntervalHasAShortTimeout(t *testing.T) {
	got, _ := from(running(func(p *egress_v1alpha1.Proxy) {
		p.Spec.HealthCheck = &egress_v1alpha1.HealthCheck{Interval: &meta_v1.Duration{Duration: 5 * time.Second}}
	}), nil)
	if got.Check.Timeout != 2500*time.Millisecond {
		t.Errorf("the timeout is %s", got.Check.Timeout)
	}
}

func TestWhatIsProbedAsTheSpecSays(t *testing.T) {
	p := running(external("proxy.example"), func(p *egress_v1alpha1.Proxy) {
		p.Spec.HealthCheck = &egress_v1alpha1.HealthCheck{
			URL: "http://target.example/ip", Interval: &meta_v1.Duration{Duration: time.Minute}, Timeout: &meta_v1.Duration{Duration: time.Second},
			SuccessThreshold: 4, FailureThreshold: 5, ExpectedStatus: []egress_v1alpha1.StatusCode{200, 404}, VerifyEgressIP: true,
		}
	})
	got, ok := from(p, nil)
	want := Check{
		URL: "http://target.example/ip", Interval: time.Minute, Timeout: time.Second, SuccessThreshold: 4, FailureThreshold: 5,
		ExpectedStatus: []int{200, 404}, VerifyEgress: true,
	}
	if !ok || !got.Check.equal(want) || got.Scheme != "socks5" || got.Host != "proxy.example" || got.Port != 1080 {
		t.Errorf("%+v, %v", got, ok)
	}
}

// TestWhatIsNotProbed is a table of Proxies with nothing to probe.
func TestWhatIsNotProbed(t *testing.T) {
	auth := func(p *egress_v1alpha1.Proxy) {
		p.Spec.Auth = &egress_v1alpha1.Auth{SecretRef: egress_v1alpha1.LocalRef{Name: "auth"}}
	}
	now := meta_v1.Now()
	for name, c := range map[string]struct {
		edit func(*egress_v1alpha1.Proxy)
		want bool
	}{
		"runs":           {func(*egress_v1alpha1.Proxy) {}, true},
		"is unhealthy":   {func(p *egress_v1alpha1.Proxy) { set(p, egress_v1alpha1.Healthy, meta_v1.ConditionFalse) }, true},
		"drains":         {func(p *egress_v1alpha1.Proxy) { set(p, egress_v1alpha1.Draining, meta_v1.ConditionTrue) }, true},
		"is deleted":     {func(p *egress_v1alpha1.Proxy) { p.DeletionTimestamp = &now }, false},
		"has no address": {func(p *egress_v1alpha1.Proxy) { p.Status.IP = "" }, false},
		"does not run":   {func(p *egress_v1alpha1.Proxy) { p.Status.Conditions[0].Status = meta_v1.ConditionFalse }, false},
		"has no Secret":  {auth, false},
	} {
		if _, ok := from(running(c.edit), nil); ok != c.want {
			t.Errorf("one that %s: %v, want %v", name, ok, c.want)
		}
	}
}

// TestProbesLogInAsLeasesDo: with the key of leases where there is one.
func TestProbesLogInAsLeasesDo(t *testing.T) {
	p := running(func(p *egress_v1alpha1.Proxy) {
		p.Spec.Auth = &egress_v1alpha1.Auth{SecretRef: egress_v1alpha1.LocalRef{Name: "auth"}}
	})
	secret := &core_v1.Secret{Data: map[string][]byte{"username": []byte("bob"), "password": []byte("s3cret")}}
	if got, _ := from(p, secret); got.login(time.Now()) != (offer.Credentials{Username: "bob", Password: "s3cret"}) {
		t.Error("not the credentials of the Secret")
	}
	secret.Data["lease-key"] = []byte(strings.Repeat("k", 32))
	got, _ := from(p, secret)
	if c := got.login(time.Unix(1_800_000_000, 0)); c.Username != "probe.1800000000" || c.Password == "" || c.Password == "s3cret" {
		t.Error("not credentials of the lease's own", c.Username)
	}
}

// TestWhereConnectionsMustComeFrom is the table of egress verification.
func TestWhereConnectionsMustComeFrom(t *testing.T) {
	verified := func(p *egress_v1alpha1.Proxy) {
		p.Spec.HealthCheck = &egress_v1alpha1.HealthCheck{URL: "http://t.example/", VerifyEgressIP: true}
	}
	learned := func(p *egress_v1alpha1.Proxy) { p.Status.EgressIP = "203.0.113.7" }
	inside := func(p *egress_v1alpha1.Proxy) { p.Spec.Network = &egress_v1alpha1.Network{ExternalIP: new(false)} }
	for name, c := range map[string]struct {
		edits []func(*egress_v1alpha1.Proxy)
		want  string
	}{
		"not asked":                         {[]func(*egress_v1alpha1.Proxy){learned}, ""},
		"an instance":                       {[]func(*egress_v1alpha1.Proxy){verified, learned}, "192.0.2.1"},
		"an instance inside a network":      {[]func(*egress_v1alpha1.Proxy){verified, inside}, ""},
		"an instance inside, once seen":     {[]func(*egress_v1alpha1.Proxy){verified, inside, learned}, "203.0.113.7"},
		"somebody else's":                   {[]func(*egress_v1alpha1.Proxy){external("198.51.100.1"), verified}, ""},
		"somebody else's, once it was seen": {[]func(*egress_v1alpha1.Proxy){external("198.51.100.1"), verified, learned}, "203.0.113.7"},
	} {
		got, _ := from(running(c.edits...), nil)
		if want, _ := netip.ParseAddr(c.want); got.Egress != want {
			t.Errorf("%s: %v, want %v", name, got.Egress, want)
		}
	}
}

// TestAnAuthorityThatIsMissingIsNotTheSystems.
func TestAnAuthorityThatIsMissingIsNotTheSystems(t *testing.T) {
	p := running(func(p *egress_v1alpha1.Proxy) {
		p.Spec.Endpoint = &egress_v1alpha1.Endpoint{Scheme: egress_v1alpha1.HTTPS}
		p.Spec.TLS = &egress_v1alpha1.TLS{CASecretRef: &egress_v1alpha1.LocalRef{Name: "ca"}, ServerName: "proxy.example"}
	})
	if got, _ := from(p, nil); got.TLS.CA == nil || got.TLS.ServerName != "proxy.example" {
		t.Errorf("%+v", got.TLS)
	}
}

// judged is an engine that has come to a verdict on p, by results of its own.
func judged(t *testing.T, p *egress_v1alpha1.Proxy, results ...Result) *Engine {
	t.Helper()
	e := New(Options{Emit: func(string) bool { return true }})
	probed, ok := from(p, nil)
	if !ok {
		t.Fatal("nothing to probe")
	}
	now := time.Unix(1_800_000_000, 0)
	e.Set(probed, now)
	for i, r := range results {
		e.flown(probed.Key, r, now.Add(time.Duration(i)*time.Second))
	}
	return e
}

// flown is a probe of the proxy that finds r.
func (e *Engine) flown(key string, r Result, now time.Time) {
	s := e.states[key]
	heap.Remove(&e.due, s.place)
	e.land(s, s.version, r, now, now)
}

func good(ms int) Result { return Result{Class: OK, Latency: time.Duration(ms) * time.Millisecond} }

// TestAVerdictIsOfTheInstanceThatIsAskedFor, and of no other.
func TestAVerdictIsOfTheInstanceThatIsAskedFor(t *testing.T) {
	p := running()
	e := judged(t, p, good(20), good(20))
	v, ok := e.Snapshot(p)
	if !ok || !v.Healthy || v.Reason != egress_v1alpha1.ReasonProbeOK || v.LatencyMillis != 20 || v.Message == "" {
		t.Errorf("%+v, %v", v, ok)
	}
	for name, edit := range map[string]func(*egress_v1alpha1.Proxy){
		"another UID":      func(p *egress_v1alpha1.Proxy) { p.UID = "2" },
		"another instance": func(p *egress_v1alpha1.Proxy) { p.Status.ProviderID = "i-2" },
		"another address":  func(p *egress_v1alpha1.Proxy) { p.Status.IP = "192.0.2.2" },
		"one made anew":    func(p *egress_v1alpha1.Proxy) { p.Status.InstanceCreatedAt = new(meta_v1.NewTime(time.Unix(1, 0))) },
		"another name":     func(p *egress_v1alpha1.Proxy) { p.Name = "b" },
	} {
		if v, ok := e.Snapshot(running(edit)); ok {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// TestAnExternalProxyWithAnotherPort has no verdict until there is one on it, whether
// the engine knows already or not.
func TestAnExternalProxyWithAnotherPort(t *testing.T) {
	p := running(external("198.51.100.1"))
	e := judged(t, p, good(20), good(20))
	v, _ := e.Snapshot(p)
	lifecycle.ApplyHealth(p, v, time.Now())
	p.Spec.Endpoint.Port = 1081
	if v, ok := e.Snapshot(p); !ok || !v.None {
		t.Errorf("before the engine knows: %+v, %v", v, ok)
	}
	probed, _ := from(p, nil)
	now := time.Unix(1_800_000_100, 0)
	e.Set(probed, now)
	if v, ok := e.Snapshot(p); !ok || !v.None {
		t.Errorf("before it has come to a verdict: %+v, %v", v, ok)
	}
	lifecycle.ApplyHealth(p, lifecycle.Verdict{None: true}, now)
	probed, _ = from(p, nil)
	e.Set(probed, now)
	e.flown("crawl/a", good(10), now)
	e.flown("crawl/a", good(10), now)
	if v, ok := e.Snapshot(p); !ok || v.None || v.LatencyMillis != 10 {
		t.Errorf("then: %+v, %v", v, ok)
	}
}

// TestReasonsOfVerdicts: each class has one that the condition may have.
func TestReasonsOfVerdicts(t *testing.T) {
	for class, want := range map[Class]string{
		Dial: "ProbeFailed", AuthFailed: "AuthFailed", ConnectStatus: "ProbeFailed", TLSFailed: "ProbeFailed",
		Timeout: "ProbeFailed", BadStatus: "BadStatus", Broken: "ProbeFailed", WrongEgress: "WrongEgress",
	} {
		bad := Result{Class: class, Message: "so it is"}
		v, ok := judged(t, running(), bad, bad, bad).Snapshot(running())
		if !ok || v.Healthy || v.Reason != want || v.Message != "so it is" {
			t.Errorf("%s: %+v, %v", class, v, ok)
		}
	}
}

// TestTheEgressAddressIsToldOnceItIsKnown, also where the verdict was there before it
// was asked for; and another one is a finding.
func TestTheEgressAddressIsToldOnceItIsKnown(t *testing.T) {
	p := running(external("198.51.100.1"))
	e := judged(t, p, good(20), good(20))
	p.Spec.HealthCheck = &egress_v1alpha1.HealthCheck{URL: "http://t.example/", VerifyEgressIP: true}
	now := time.Unix(1_800_000_100, 0)
	apply := func() lifecycle.Verdict {
		v, ok := e.Snapshot(p)
		if !ok {
			t.Fatal("no verdict")
		}
		lifecycle.ApplyHealth(p, v, now)
		lifecycle.Conclude(p)
		probed, _ := from(p, nil)
		e.Set(probed, now)
		return v
	}
	apply()
	seen := good(20)
	seen.Egress = netip.MustParseAddr("203.0.113.7")
	e.flown("crawl/a", seen, now)
	if v := apply(); v.EgressIP != "203.0.113.7" || p.Status.EgressIP != v.EgressIP || e.Writes()[EgressKnown] != 1 {
		t.Errorf("%+v, writes %v", v, e.Writes())
	}
	if got := e.states["crawl/a"]; got.proxy.Egress != seen.Egress || got.record.ok != 1 {
		t.Errorf("the next probe wants %v, after %d good ones", got.proxy.Egress, got.record.ok)
	}
	before := e.Writes()
	e.flown("crawl/a", seen, now)
	if len(e.Writes()) != len(before) || e.Writes()[EgressKnown] != 1 {
		t.Errorf("writes %v, before %v", e.Writes(), before)
	}
	p.Spec.HealthCheck.VerifyEgressIP = false // whoever finds another one right says so
	if apply(); p.Status.EgressIP != "" {
		t.Errorf("egress address %s although nobody verifies it", p.Status.EgressIP)
	}
	p.Spec.HealthCheck.VerifyEgressIP = true
	apply()
	if got := e.states["crawl/a"].proxy.Egress; got.IsValid() {
		t.Errorf("it still must be %s", got)
	}
}
