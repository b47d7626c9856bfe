package metrics

import (
	"context"
	"slices"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
)

// Objects returns o with its writes of statuses counted.
func (m *Metrics) Objects(o reconcile.Objects) reconcile.Objects { return counted{o, m} }

type counted struct {
	reconcile.Objects
	*Metrics
}

// PatchStatus counts the writes that succeed.
func (c counted) PatchStatus(ctx context.Context, base, p *egress_v1alpha1.Proxy) error {
	err := c.Objects.PatchStatus(ctx, base, p)
	if err == nil {
		c.statusWrites.WithLabelValues(Cause(&base.Status, &p.Status)).Inc()
	}
	return err
}

// Cause names the foremost thing that differs between two statuses.
func Cause(was, is *egress_v1alpha1.ProxyStatus) string {
	switch {
	case was.Phase != is.Phase:
		return "phase"
	case was.Provider != is.Provider, was.ProviderID != is.ProviderID, was.IP != is.IP, !was.InstanceCreatedAt.Equal(is.InstanceCreatedAt):
		return "instance"
	case !slices.EqualFunc(was.Conditions, is.Conditions, sameCondition):
		return "condition"
	case was.Attempts != is.Attempts, was.Operation != is.Operation, was.RetriedAt != is.RetriedAt:
		return "attempt"
	case !sameError(was.LastError, is.LastError):
		return "error"
	case was.LatencyMillis != is.LatencyMillis, !was.LastHealthCheckTime.Equal(is.LastHealthCheckTime):
		return "health"
	case was.ObservedGeneration != is.ObservedGeneration:
		return "generation"
	default:
		return "other"
	}
}

// sameCondition does not look at the generation, which follows that of the object.
func sameCondition(a, b meta_v1.Condition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message
}

func sameError(a, b *egress_v1alpha1.LastError) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Class == b.Class && a.Message == b.Message && a.Time.Equal(&b.Time)
}
