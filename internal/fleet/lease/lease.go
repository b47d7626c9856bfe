// Package lease keeps which proxy is used by whom, for what target, and until when.
//
// A [Store] chooses a proxy and grants a lease on it in one step, so that no capacity is
// ever exceeded and no cooling proxy offered. Whatever ends by time has ended when its
// time has come, whether or not anybody swept: every call looks at the clock first.
// What proxies there are is told to a store by events; no request lists them.
package lease

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Bounds and defaults.
const (
	DefaultTTL = 300 * time.Second
	MinTTL     = time.Second
	MaxTTL     = time.Hour
	// CooldownWindow is how long a proxy rests for a target after a report, the first
	// time, and how long after its end a lease can still be reported about.
	CooldownWindow = 10 * time.Minute
	// MaxCooldown bounds what cooldowns grow to with repeated reports.
	MaxCooldown = 6 * time.Hour
)

// Errors of stores beside [NoMatchError].
var (
	// ErrUnknown means that there is no such lease, or that it has ended.
	ErrUnknown = errors.New("no such lease")
	// ErrProxyGone means that the proxy of the lease was deleted or replaced.
	ErrProxyGone = errors.New("the proxy of the lease is gone")
	// ErrReused means that an idempotency key came with another request than before.
	ErrReused = errors.New("the idempotency key was used for another request")
	// ErrUnavailable means that nobody knows what is leased; ask again soon.
	ErrUnavailable = errors.New("the store of leases cannot be reached")
)

// Proxy is what may be leased.
type Proxy struct {
	// UID identifies it for as long as it exists.
	UID             string
	Namespace, Name string
	// Instance says which instance it is now, and where clients connect. A lease belongs to
	// UID and Instance: with another one, it has ended.
	Instance string
	// Address is where its connections come from. Cooldowns belong to UID and Address.
	Address    string
	Attributes map[string]string
	// LatencyMillis decides between proxies with as many leases, then the name does.
	LatencyMillis int64
	// Healthy is false too while it is drained or deleted.
	Healthy bool
	// Capacity is how many leases it carries, PerTarget how many for one target; 0 is
	// any number.
	Capacity, PerTarget int
}

// Request asks for a lease.
type Request struct {
	Selector Selector
	// Exclude are proxies not to be granted, "namespace/name".
	Exclude []string
	// Target is what the lease is for; empty for anything.
	Target string
	// Session asks for the proxy that the session had, as long as that is fit.
	Session string
	// TTL is from MinTTL to MaxTTL.
	TTL time.Duration
	// Key makes the request safe to repeat for whoever sends it: the same key and the
	// same request within the life of the lease give the same lease. Body is what else
	// was asked, for comparison; Exclude, to which others add, is not compared.
	Key, Body string
}

// Lease is the right to use a proxy until ExpiresAt.
type Lease struct {
	// ID has 128 random bits, in 32 hexadecimal digits.
	ID        string
	Proxy     Proxy
	Target    string
	ExpiresAt time.Time
	TTL       time.Duration
	// Rebound is true when a session got another proxy than it had.
	Rebound bool
	// Fence grows with each lease that the store grants.
	Fence uint64
	// CoolingUntil is until when the proxy rests for the target, or for every target, as
	// Renew returns it; zero if it does not, and of a lease that was just granted.
	CoolingUntil time.Time
}

// NoMatchError says why no proxy could be granted. Each proxy that the selector matches
// is counted once: under the first of the other three that holds.
type NoMatchError struct {
	Considered, Unhealthy, AtCapacity, InCooldown int
	// RetryAfter is how long until the first lease or cooldown of those that match ends, if
	// nobody does anything, or less; 0 when none will.
	RetryAfter time.Duration
}

func (e *NoMatchError) Error() string {
	return fmt.Sprintf("no proxy to lease: %d match, of which %d are unhealthy, %d at capacity, %d cooling down",
		e.Considered, e.Unhealthy, e.AtCapacity, e.InCooldown)
}

// Result is what became of what a lease was used for.
type Result string

// Results.
const (
	OK          Result = "ok"
	RateLimited Result = "rate_limited"
	Banned      Result = "banned"
)

// Store grants leases. Its methods may be called at once.
type Store interface {
	// Set tells of a proxy, new or changed. With another Instance its leases end, with another
	// Address its cooldowns do. To tell what was told costs nothing.
	Set(ctx context.Context, p Proxy) error
	// Remove tells that a proxy is gone, and ends its leases. Both are told by one process
	// at a time, and every process that shares the store grants by what was told.
	Remove(ctx context.Context, uid string) error
	// Acquire grants a lease on the proxy of the request's session, if that was told with the
	// same instance ever since, suits, and the last lease of session and selector can still be
	// reported about; or else on the fittest: the one with the fewest leases, then with the
	// lowest latency, then by namespace and name. [NoMatchError], [ErrReused].
	Acquire(ctx context.Context, r Request) (Lease, error)
	// Renew lets a lease end ttl from now, whether or not its proxy rests by now, and returns
	// it. [ErrUnknown], [ErrProxyGone].
	Renew(ctx context.Context, id string, ttl time.Duration) (Lease, error)
	// Release ends a lease; one that is unknown has ended.
	Release(ctx context.Context, id string) error
	// Report says what became of a lease's use, for a target, or else for the lease's,
	// or else for all targets, which is a target of its own here: the proxy then rests, if
	// it has the address that the lease's had. A proxy rests for [MaxTargets] targets at
	// most. Of the proxies that the lease's selector matches now, if these are eight or
	// more, at most three quarters rest for the target afterwards: the others whose rest for
	// it ends first, then by namespace and name, rest no more, but their count in a row goes
	// on. [ErrUnknown] once CooldownWindow has passed since its end.
	Report(ctx context.Context, id string, result Result, target string) error
	// Counts returns how many leases each proxy has, by UID; those with none are absent.
	Counts(ctx context.Context) (map[string]int, error)
	// Use returns how one proxy is used, the zero Use for one that is not known.
	Use(ctx context.Context, uid string) (Use, error)
}

// Use is how one proxy is used.
type Use struct {
	// Active is how many leases it carries.
	Active int
	// Cooldowns are those that are not over, by target.
	Cooldowns []Cooldown
}

// Cooldown is the rest of a proxy for a target; an empty one is every target.
type Cooldown struct {
	Target string
	Until  time.Time
}
