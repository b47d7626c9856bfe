package pipeline

import (
	"context"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/validator"
)

// measured is a validator whose verdicts are counted and timed.
type measured struct {
	validator.Validator
	metrics *observe.Metrics
	now     func() time.Time
}

// measure has all validators counted and timed. None has failed before it was asked.
func measure(all []Judged, m *observe.Metrics, now func() time.Time) []Judged {
	out := make([]Judged, len(all))
	for i, j := range all {
		m.ValidatorUp.WithLabelValues(j.Name()).Set(1)
		out[i] = Judged{Validator: measured{j.Validator, m, now}, Required: j.Required}
	}
	return out
}

// Validate asks the validator.
func (v measured) Validate(ctx context.Context, c validator.Candidate) validator.Verdict {
	began := v.now()
	said := v.Validator.Validate(ctx, c)
	if said.Unavailable != "" && ctx.Err() != nil {
		return said // whoever asked did not wait for the verdict
	}
	v.metrics.ValidatorSeconds.WithLabelValues(v.Name()).Observe(v.now().Sub(began).Seconds())
	v.metrics.ValidatorVerdicts.WithLabelValues(v.Name(), outcomeOf(said)).Inc()
	up := 1.0
	if said.Unavailable != "" {
		up = 0
	}
	v.metrics.ValidatorUp.WithLabelValues(v.Name()).Set(up)
	return said
}

func outcomeOf(v validator.Verdict) string {
	switch {
	case v.Unavailable != "":
		return "unavailable"
	case len(v.Refusals) > 0:
		return "refused"
	default:
		return "accepted"
	}
}
