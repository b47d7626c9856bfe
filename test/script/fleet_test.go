package script

import (
	"context"
	"net"
	"time"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/admin/fleetapi"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/explain"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// crawlers is a fleet with a fixed answer to everything.
type crawlers struct{ now time.Time }

func (c crawlers) Ready() error { return nil }

func (c crawlers) Fleet(context.Context) (explain.Fleet, error) {
	return explain.Fleet{
		Source: "directory /etc/fleet",
		Proxies: []explain.Known{
			{Namespace: "crawl", Name: "ams-1", Origin: "/etc/fleet/ams.yaml:3", Refusals: []verdict.Step{{
				Stage: verdict.Accept, Outcome: verdict.WasRejected, Reason: "InvalidValue", Field: "spec.provider",
				Message: `"aws": not supported; use one of "gcp", "hetzner", "kubernetes", "process"`,
			}}},
			{Namespace: "crawl", Name: "fra-1", Origin: "/etc/fleet/fra.yaml:1", Proxy: c.proxy("fra-1", meta_v1.ConditionTrue, egress_v1alpha1.ReasonCreated, ""), ProviderOn: true, Next: c.now.Add(42 * time.Second)},
			{Namespace: "crawl", Name: "fra-2", Origin: "/etc/fleet/fra.yaml:9", Proxy: c.proxy("fra-2", meta_v1.ConditionTrue, egress_v1alpha1.ReasonWaitingForBudget, "its instance runs and waits to be replaced: its credentials changed"), ProviderOn: true},
		},
		Problems: []explain.Problem{{File: "/etc/fleet/notes.yaml", Line: 1, Reason: "InvalidSyntax", Message: "not YAML: did not find expected node content; correct this line or the one above"}},
		Held:     "the documents of 2 of 3 Proxies are gone from /etc/fleet, more than half: nothing is deleted; put them back, or start with --allow-mass-delete",
	}, nil
}

// proxy is one whose instance was made two hours ago.
func (c crawlers) proxy(name string, status meta_v1.ConditionStatus, reason, message string) *egress_v1alpha1.Proxy {
	at := meta_v1.NewTime(c.now.Add(-2*time.Hour - 5*time.Minute))
	p := &egress_v1alpha1.Proxy{Spec: egress_v1alpha1.ProxySpec{Mode: egress_v1alpha1.Managed, Provider: "gcp", Zone: "europe-west3-a", MachineType: "e2-micro"}}
	p.Namespace, p.Name, p.Generation, p.CreationTimestamp = "crawl", name, 2, at
	p.Status = egress_v1alpha1.ProxyStatus{
		Phase: egress_v1alpha1.PhaseProvisioned, ObservedGeneration: 2, Provider: "gcp", ProviderID: "zones/europe-west3-a/instances/px-" + name,
		IP: "10.7.0.11", InstanceCreatedAt: &at,
		Conditions: []meta_v1.Condition{{Type: egress_v1alpha1.Provisioned, Status: status, Reason: reason, Message: message, LastTransitionTime: at}},
	}
	return p
}

// leased is the same fleet, with probes and leases.
type leased struct{ crawlers }

// Fleet has a proxy that somebody else runs, beside the one that is leased.
func (l leased) Fleet(ctx context.Context) (explain.Fleet, error) {
	f, err := l.crawlers.Fleet(ctx)
	f.Problems, f.Held = nil, ""
	f.Proxies[1].Proxy = l.judged("fra-1", meta_v1.ConditionTrue, egress_v1alpha1.ReasonProbeOK, "answers")
	f.Proxies[2].Proxy = l.judged("fra-2", meta_v1.ConditionFalse, egress_v1alpha1.ReasonAuthFailed, "it refuses the credentials: 407")
	return f, err
}

func (l leased) judged(name string, status meta_v1.ConditionStatus, reason, message string) *egress_v1alpha1.Proxy {
	p := l.proxy(name, meta_v1.ConditionTrue, egress_v1alpha1.ReasonCreated, "")
	p.UID = types.UID(name)
	p.Spec.Attributes = map[string]egress_v1alpha1.AttributeValue{"country": "de"}
	p.Spec.Capacity = &egress_v1alpha1.Capacity{MaxLeases: 10, PerTarget: 2}
	p.Spec.Lifecycle = &egress_v1alpha1.Lifecycle{ReplaceOnUnhealthyAfter: &meta_v1.Duration{Duration: time.Hour}}
	p.Status.Phase = egress_v1alpha1.PhaseReady
	if status != meta_v1.ConditionTrue {
		p.Status.Phase = egress_v1alpha1.PhaseUnhealthy
	}
	p.Status.Conditions = append(p.Status.Conditions, meta_v1.Condition{
		Type: egress_v1alpha1.Healthy, Status: status, Reason: reason, Message: message, LastTransitionTime: meta_v1.NewTime(l.now.Add(-5 * time.Minute)),
	})
	return p
}

// Fill implements [explain.Uses].
func (l leased) Fill(_ context.Context, proxies []explain.Known) explain.Leasing {
	for i := range proxies {
		k := &proxies[i]
		if k.Proxy == nil {
			continue
		}
		k.Offer = offer.Of(k.Proxy, nil)
		k.Probe = &explain.Probe{
			URL: "https://probe.example/204", Interval: 30 * time.Second, SuccessThreshold: 2, FailureThreshold: 3,
			Class: "ok", Latency: 38 * time.Millisecond, At: l.now.Add(-12 * time.Second), InRow: 240, Next: l.now.Add(18 * time.Second),
		}
		switch k.Name {
		case "fra-1":
			k.Use.Active = 3
			for i, target := range []string{"shop.example", "news.example", "a.example", "b.example", "c.example", "d.example"} {
				k.Use.Cooldowns = append(k.Use.Cooldowns, lease.Cooldown{Target: target, Until: midnight.Add(time.Duration(60-i) * time.Minute)})
			}
		case "fra-2":
			k.Probe.Class, k.Probe.Message, k.Probe.InRow = "auth_failed", "407 Proxy Authentication Required", 5
		}
	}
	return explain.Leasing{Store: "memory"}
}

// midnight is of a day that is long after all tests, at which it is the same hour
// everywhere that they run.
var midnight = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// serveFleet answers for a fleet until stop is called, which waits for the end.
func serveFleet(of func(now time.Time) fleetapi.Options) (address string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	now := time.Now()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		o := of(now)
		o.Now = func() time.Time { return now }
		done <- admin.Serve(ctx, l, fleetapi.Handler(o))
	}()
	return l.Addr().String(), func() { cancel(); <-done }, nil
}
