package narrate

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
)

// store takes every write, or none.
type store struct {
	reconcile.Objects
	err error
}

func (s store) PatchStatus(context.Context, *egress_v1alpha1.Proxy, *egress_v1alpha1.Proxy) error {
	return s.err
}

func (s store) PatchMetadata(context.Context, *egress_v1alpha1.Proxy, *egress_v1alpha1.Proxy) error {
	return s.err
}

func proxy(phase egress_v1alpha1.Phase, reason, message string, change ...func(*egress_v1alpha1.Proxy)) *egress_v1alpha1.Proxy {
	p := &egress_v1alpha1.Proxy{Namespace: "crawl", Name: "one", UID: "u", Finalizers: []string{egress_v1alpha1.InstanceFinalizer}}
	p.Status.Phase = phase
	p.Status.Conditions = []meta_v1.Condition{{Type: egress_v1alpha1.Provisioned, Status: meta_v1.ConditionTrue, Reason: reason, Message: message}}
	for _, f := range change {
		f(p)
	}
	return p
}

func TestChangesAreTold(t *testing.T) {
	runs := proxy(egress_v1alpha1.PhaseProvisioned, egress_v1alpha1.ReasonCreated, "its instance runs")
	judged := func(phase egress_v1alpha1.Phase, reason, message string) *egress_v1alpha1.Proxy {
		return proxy(phase, egress_v1alpha1.ReasonCreated, "its instance runs", func(p *egress_v1alpha1.Proxy) {
			p.Status.Conditions = append(p.Status.Conditions, meta_v1.Condition{Type: egress_v1alpha1.Healthy, Reason: reason, Message: message})
		})
	}
	for name, c := range map[string]struct {
		before, after *egress_v1alpha1.Proxy
		want          []string // parts of the line; none for no line
	}{
		"it runs": {
			proxy(egress_v1alpha1.PhaseProvisioning, egress_v1alpha1.ReasonProvisioning, "not yet"), runs,
			[]string{"level=INFO", `msg="proxy changed" object=crawl/one state=Provisioned reason=Created message="its instance runs"`},
		},
		"a text": {runs, proxy(egress_v1alpha1.PhaseProvisioned, egress_v1alpha1.ReasonCreated, "its instance runs well"), nil},
		"unhealthy": {
			judged(egress_v1alpha1.PhaseReady, egress_v1alpha1.ReasonProbeOK, "well"), judged(egress_v1alpha1.PhaseUnhealthy, egress_v1alpha1.ReasonAuthFailed, "407"),
			[]string{"level=WARN", "state=Unhealthy reason=AuthFailed message=407"},
		},
		"unhealthy for another reason": {
			judged(egress_v1alpha1.PhaseUnhealthy, egress_v1alpha1.ReasonProbeFailed, "refused"), judged(egress_v1alpha1.PhaseUnhealthy, egress_v1alpha1.ReasonAuthFailed, "407"),
			[]string{"level=WARN", "reason=AuthFailed message=407"},
		},
		"well again": {
			judged(egress_v1alpha1.PhaseUnhealthy, egress_v1alpha1.ReasonAuthFailed, "407"), judged(egress_v1alpha1.PhaseReady, egress_v1alpha1.ReasonProbeOK, "38 ms"),
			[]string{"level=INFO", `state=Ready reason=ProbeOK message="38 ms"`},
		},
		"another latency": {judged(egress_v1alpha1.PhaseReady, egress_v1alpha1.ReasonProbeOK, "38 ms"), judged(egress_v1alpha1.PhaseReady, egress_v1alpha1.ReasonProbeOK, "90 ms"), nil},
		"refused": {
			runs, proxy(egress_v1alpha1.PhaseFailed, egress_v1alpha1.ReasonPermanentError, "no such zone"),
			[]string{"level=WARN", "reason=PermanentError", `message="no such zone"`},
		},
		"blocked": {
			proxy(egress_v1alpha1.PhaseDeleting, egress_v1alpha1.ReasonDeleting, "goes"),
			proxy(egress_v1alpha1.PhaseDeleting, egress_v1alpha1.ReasonDeleting, "goes", func(p *egress_v1alpha1.Proxy) {
				p.Status.Conditions = append(p.Status.Conditions, meta_v1.Condition{Type: egress_v1alpha1.DeletionBlocked, Status: meta_v1.ConditionTrue, Message: "no rights"})
			}),
			[]string{"level=WARN", `message="no rights"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			objects := Objects(store{}, slog.New(slog.NewTextHandler(&out, nil)))
			if err := objects.PatchStatus(t.Context(), c.before, c.after); err != nil {
				t.Fatal(err)
			}
			if len(c.want) == 0 && out.Len() > 0 {
				t.Errorf("told: %s", &out)
			}
			for _, part := range c.want {
				if !strings.Contains(out.String(), part) {
					t.Errorf("no %q in %s", part, &out)
				}
			}
		})
	}
}

func TestWhatIsNotWrittenIsNotTold(t *testing.T) {
	var out bytes.Buffer
	lost := errors.New("lost")
	objects := Objects(store{err: lost}, slog.New(slog.NewTextHandler(&out, nil)))
	before, after := proxy("", "", ""), proxy(egress_v1alpha1.PhaseReady, "Created", "", func(p *egress_v1alpha1.Proxy) { p.Finalizers = nil })
	for _, write := range []func(context.Context, *egress_v1alpha1.Proxy, *egress_v1alpha1.Proxy) error{objects.PatchStatus, objects.PatchMetadata} {
		if err := write(t.Context(), before, after); !errors.Is(err, lost) || out.Len() > 0 {
			t.Errorf("error %v, told %q", err, &out)
		}
	}
}

func TestTheEndIsTold(t *testing.T) {
	var out bytes.Buffer
	objects := Objects(store{}, slog.New(slog.NewTextHandler(&out, nil)))
	after := proxy("", "", "", func(p *egress_v1alpha1.Proxy) { p.Finalizers = nil })
	if err := objects.PatchMetadata(t.Context(), proxy("", "", ""), after); err != nil || !strings.Contains(out.String(), `msg="proxy is gone" object=crawl/one`) {
		t.Errorf("%v: %s", err, &out)
	}
}
