// Package controller runs the fleet over a Kubernetes API: it watches Proxies and the
// Secrets that they name, calls internal/fleet/reconcile for each Proxy that may have
// something to do, and keeps objects there ([reconcile.Objects]).
//
// Of the processes that run it, the one that holds a Lease works. Losing the Lease ends
// the work, not the process: the cache goes on and the process stands again. That is why
// this is controller-runtime's cluster, sources and controllers, and not its manager,
// which can only end with its leadership.
//
// It never watches what providers make, and reads the body of a Secret only when a Proxy
// names it.
package controller
