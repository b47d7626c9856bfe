// Package narrate logs what becomes of Proxies: one line for each change that a person
// would tell another, taken from what is written to them. It writes nothing itself.
package narrate

import (
	"context"
	"log/slog"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// Objects logs what is written to objects.
func Objects(objects reconcile.Objects, log *slog.Logger) reconcile.Objects {
	return told{objects, log}
}

type told struct {
	reconcile.Objects
	log *slog.Logger
}

// PatchStatus logs a phase, reason or address that is another than before.
func (t told) PatchStatus(ctx context.Context, base, p *egress_v1alpha1.Proxy) error {
	if err := t.Objects.PatchStatus(ctx, base, p); err != nil {
		return err //nolint:wrapcheck // it passes through
	}
	before, after := stateOf(base), stateOf(p)
	if before == after {
		return nil
	}
	level := slog.LevelInfo
	if after.trouble() {
		level = slog.LevelWarn
	}
	t.log.Log(ctx, level, "proxy changed", observe.KeyObject, p.Namespace+"/"+p.Name, observe.KeyState, string(after.phase), observe.KeyReason, after.reason,
		observe.KeyMessage, after.message(p), observe.KeyInstance, p.Status.ProviderID, observe.KeyAddress, p.Status.IP)
	return nil
}

// PatchMetadata logs that a Proxy was let go.
func (t told) PatchMetadata(ctx context.Context, base, p *egress_v1alpha1.Proxy) error {
	if err := t.Objects.PatchMetadata(ctx, base, p); err != nil {
		return err //nolint:wrapcheck // it passes through
	}
	if lifecycle.Owned(base) && !lifecycle.Owned(p) {
		t.log.InfoContext(ctx, "proxy is gone", observe.KeyObject, p.Namespace+"/"+p.Name, observe.KeyUID, string(p.UID))
	}
	return nil
}

// state is what a line is told for. Messages hold times and texts of others: a change of
// one alone is none.
type state struct {
	phase          egress_v1alpha1.Phase
	reason         string
	draining       bool
	blocked        bool
	judged         bool // what probes say tells most
	instance, host string
}

func stateOf(p *egress_v1alpha1.Proxy) state {
	s := state{
		phase: p.Status.Phase, instance: p.Status.ProviderID, host: p.Status.IP,
		draining: lifecycle.Is(p, egress_v1alpha1.Draining),
		blocked:  lifecycle.Is(p, egress_v1alpha1.DeletionBlocked),
	}
	if c := lifecycle.Condition(p, egress_v1alpha1.Provisioned); c != nil {
		s.reason = c.Reason
	}
	if h := lifecycle.Condition(p, egress_v1alpha1.Healthy); h != nil && s.settled() {
		s.judged, s.reason = true, h.Reason
	}
	return s
}

// settled says whether there is nothing to tell of the instance but that it runs.
func (s state) settled() bool {
	runs := s.reason == egress_v1alpha1.ReasonCreated || s.reason == egress_v1alpha1.ReasonExternalEndpoint
	return runs && (s.phase == egress_v1alpha1.PhaseReady || s.phase == egress_v1alpha1.PhaseUnhealthy)
}

// trouble says whether somebody should look.
func (s state) trouble() bool {
	switch s.reason {
	case egress_v1alpha1.ReasonPermanentError, egress_v1alpha1.ReasonQuotaExceeded, egress_v1alpha1.ReasonCloudInitError,
		egress_v1alpha1.ReasonTransientError, egress_v1alpha1.ReasonProvisioningTimeout:
		return true
	}
	return s.blocked || s.phase == egress_v1alpha1.PhaseUnhealthy
}

// message is that of the condition which tells most.
func (s state) message(p *egress_v1alpha1.Proxy) string {
	name := egress_v1alpha1.Provisioned
	switch {
	case s.blocked:
		name = egress_v1alpha1.DeletionBlocked
	case s.draining:
		name = egress_v1alpha1.Draining
	case s.judged:
		name = egress_v1alpha1.Healthy
	}
	if c := lifecycle.Condition(p, name); c != nil {
		return c.Message
	}
	return ""
}
