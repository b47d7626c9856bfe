package lifecycle

import (
	"time"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
)

// How long to wait before looking again. They are least intervals: a shell spreads
// them, and a provider's limit of requests stretches them.
const (
	ProvisioningPoll = 5 * time.Second
	DeletionPoll     = 5 * time.Second
	DriftPoll        = 60 * time.Second
	RequeueNow       = 100 * time.Millisecond
	QuotaRetry       = 5 * time.Minute
	DrainPoll        = 10 * time.Second
)

// Bounds of how long things may take, where a Proxy names no others.
const (
	DefaultProvisioningTimeout = 15 * time.Minute
	DefaultDrainTimeout        = 5 * time.Minute
	// DeletionPatience is how long an instance may take to go before its Proxy says that
	// the deletion is blocked. It begins when leases have had their time.
	DeletionPatience = 10 * time.Minute
)

// slowDeletionPoll is how often a deletion that takes too long is looked at.
const slowDeletionPoll = 30 * time.Second

// visibility is how long an accepted create may take to be seen by others than the one
// that accepted it.
const visibility = 30 * time.Second

// maxPause is the longest pause between two tries.
const maxPause = 5 * time.Minute

// Backoff returns how long after an accepted create that came to nothing the next one
// may follow: 5 s after the first, then doubled, at most 5 min.
func Backoff(attempts int32) time.Duration {
	if attempts <= 0 {
		return 0
	}
	return min(maxPause, 5*time.Second<<min(attempts-1, 10))
}

// pause grows with the time since the first failure, so that it doubles without anybody
// counting.
func pause(since, now time.Time) time.Duration {
	return min(maxPause, max(DeletionPoll, now.Sub(since)))
}

func provisioningTimeout(p *egress_v1alpha1.Proxy) time.Duration {
	if l := p.Spec.Lifecycle; l != nil && l.ProvisioningTimeout != nil && l.ProvisioningTimeout.Duration > 0 {
		return l.ProvisioningTimeout.Duration
	}
	return DefaultProvisioningTimeout
}

func drainTimeout(p *egress_v1alpha1.Proxy) time.Duration {
	if l := p.Spec.Lifecycle; l != nil && l.DrainTimeout != nil {
		return l.DrainTimeout.Duration
	}
	return DefaultDrainTimeout
}

// tooOldIn returns how long the instance of p may still get older, false for ever.
func tooOldIn(p *egress_v1alpha1.Proxy, now time.Time) (time.Duration, bool) {
	l, born := p.Spec.Lifecycle, p.Status.InstanceCreatedAt
	if l == nil || l.MaxAge == nil || l.MaxAge.Duration <= 0 || born == nil {
		return 0, false
	}
	return l.MaxAge.Duration - now.Sub(born.Time), true
}
