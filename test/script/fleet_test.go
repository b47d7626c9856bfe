package script

import (
	"context"
	"net"
	"time"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/admin/fleetapi"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/explain"
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

// serveFleet answers for crawlers until stop is called, which waits for the end.
func serveFleet() (address string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	now := time.Now()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- admin.Serve(ctx, l, fleetapi.Handler(fleetapi.Options{Shell: crawlers{now}, Now: func() time.Time { return now }}))
	}()
	return l.Addr().String(), func() { cancel(); <-done }, nil
}
